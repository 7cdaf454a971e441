"""The documents: every link leads somewhere, every page can be found, every decision that is cited exists."""

import re
from pathlib import Path

import pytest

from tests.support.repository import ROOT

DOCUMENTS = sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("deploy/**/*.md")})
DECISIONS = "\n".join(page.read_text() for page in sorted((ROOT / "docs" / "decisions").glob("*.md")))
NUMBERS = [int(number) for number in re.findall(r"^\*\*D(\d+)\. ", DECISIONS, re.MULTILINE)]
CITING = [
    file
    for folder in ("gateway", "backends", "tests", "benchmarks", "docs", "release")
    for suffix in ("*.py", "*.md")
    for file in (ROOT / folder).rglob(suffix)
]


def prose(document: Path) -> str:
    """Without code blocks: what looks like a link there is none."""
    return re.sub(r"```.*?```", "", document.read_text(), flags=re.DOTALL)


def links(document: Path) -> list[str]:
    return [link for link in re.findall(r"\]\(([^)\s]+)\)", prose(document)) if "://" not in link]


def anchors(document: Path) -> set[str]:
    """As git hosts make them of headings."""
    headings = re.findall(r"^#+ (.+)$", prose(document), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(document):
    for link in links(document):
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_every_page_can_be_found_from_the_index():
    index = ROOT / "docs" / "README.md"
    found = {(index.parent / link.partition("#")[0]).resolve() for link in links(index)}
    assert {file for file in DOCUMENTS if file not in found} == {index}


def test_each_decision_has_a_number_of_its_own():
    assert len(NUMBERS) == len(set(NUMBERS))
    assert 50 <= len(NUMBERS) <= 80


def test_every_decision_that_is_cited_exists():
    cited = {
        (int(number), str(file.relative_to(ROOT)))
        for file in CITING
        for number in re.findall(r"\bD(\d{1,3})\b(?!\.)", file.read_text())
    }
    assert [each for each in sorted(cited) if each[0] not in NUMBERS] == []
