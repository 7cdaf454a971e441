"""RUNBOOK.md: every alert links to its own section, which contains all required parts."""

import re

import pytest
import yaml

from tests.support.refusals import all_refusals
from tests.system.deploy.monitoring import RUNBOOK, rules, runbook_queries
from tests.system.deploy.test_rules import promtool

PARTS = ("Means", "Look", "Do", "Do not", "Over")
SECTIONS = {
    section.splitlines()[0].removeprefix("## "): section
    for section in re.split(r"^(?=##? )", RUNBOOK.read_text(), flags=re.MULTILINE)
    if section.startswith("## ")
}


def anchor(heading: str) -> str:
    """Returns the anchor that git hosts derive from a heading."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def test_there_is_a_section_for_each_alert_and_no_other():
    assert {heading for heading in SECTIONS if heading.startswith("Kvs")} == rules("alert").keys()


@pytest.mark.parametrize("alert", rules("alert"))
def test_an_alert_leads_to_its_section(alert):
    url, fragment = rules("alert")[alert]["annotations"]["runbook_url"].split("#")
    assert re.fullmatch(r"https://git\.example\.com/[\w./-]+/RUNBOOK\.md", url)
    assert fragment == anchor(alert)


@pytest.mark.parametrize("alert", rules("alert"))
def test_a_section_names_actions_mistakes_to_avoid_and_the_end_of_the_alert(alert):
    assert re.findall(r"^\*\*([\w ]+?)\.?\*\*", SECTIONS[alert], re.MULTILINE) == list(PARTS)


def test_links_lead_to_sections_and_files():
    headings = re.findall(r"^#+ (.+)$", RUNBOOK.read_text(), re.MULTILINE)
    anchors = {anchor(heading) for heading in headings}
    for target in re.findall(r"\]\(([^)]+)\)", RUNBOOK.read_text()):
        if target.startswith("#"):
            assert target[1:] in anchors
        else:
            assert (RUNBOOK.parent / target.partition("#")[0]).exists(), target


def test_every_5xx_code_is_in_the_list_of_the_first_minute():
    listed = SECTIONS["The first minute"]
    ours = {kind.code for kind in all_refusals() if kind.status >= 500}
    assert {code for code in ours if f"`{code}`" not in listed} == set()


def test_quoted_messages_and_reasons_occur_in_the_log():
    root = RUNBOOK.parent
    code = "".join(
        file.read_text() for part in ("gateway", "backends") for file in (root / part).rglob("*.py")
    )
    text = RUNBOOK.read_text()
    asked = re.findall(r'\.message == "([^"]+)"', text)
    items = re.findall(r"^- (`.+?`.*?): ", SECTIONS["Reasons in the log"], re.MULTILINE)
    named = [name for item in items for name in re.findall(r"`(?:… )?([^`(]*?) ?(?:\(([A-Z]+)\))?`", item)]
    assert asked
    assert named
    for phrase in [*asked, *(part for parts in named for part in parts if part)]:
        assert phrase in code, phrase


def test_every_query_can_be_parsed(tmp_path):
    queries = runbook_queries()
    assert queries
    as_rules = [{"record": f"query:{number}", "expr": query} for number, query in enumerate(queries)]
    file = tmp_path / "queries.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": as_rules}]}))
    promtool("check", "rules", file)
