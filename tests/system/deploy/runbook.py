"""Copyable scripts of RUNBOOK.md."""

import re

from tests.system.deploy.monitoring import RUNBOOK


def script(name: str) -> str:
    """Returns the script between two marks."""
    (text,) = re.findall(
        rf"<!-- {name} -->\n```sh\n(.*?)```\n<!-- end of {name} -->", RUNBOOK.read_text(), re.DOTALL
    )
    return text
