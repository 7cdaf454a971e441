"""axe-core: rules of WCAG 2.2 that a program can judge."""

import sysconfig
from pathlib import Path

from playwright.async_api import Page

from tests.support.coverage import not_covered

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
PROGRAM = Path(sysconfig.get_path("data")) / "axe-core" / "package" / "axe.min.js"


def program_or_skip() -> str:
    """Its one file, which `make chromium` fetches."""
    if not PROGRAM.exists():
        not_covered("there is no axe-core: `make chromium` fetches it from npm")
    return PROGRAM.read_text()


async def findings(page: Page, program: str) -> list[str]:
    """Returns the violations on the current page: rule and element."""
    await page.evaluate(program)
    result = await page.evaluate(
        "tags => axe.run(document, {runOnly: {type: 'tag', values: tags}})",
        TAGS,
    )
    return [
        f"{rule['id']}: {node['html'][:160]} {node['failureSummary'][:300]}"
        for rule in result["violations"]
        for node in rule["nodes"]
    ]
