"""The page that explains refusals is of one mind with their tree, and each of them explains itself."""

import re

import pytest

from gateway.controlplane.errors import InvalidField
from tests.contract.mistakes import MISTAKES
from tests.support.refusals import all_refusals
from tests.support.repository import ROOT

PAGE = (ROOT / "docs" / "refusals.md").read_text()
SOURCES = "\n".join(file.read_text() for file in (ROOT / "gateway").rglob("*.py"))
FIELDS = {("unknown_parameter", 422), ("role_not_approved", 422)}
"""Codes of the control plane, except those that the page lists as `invalid_…`."""

ELSEWHERE = {
    "the body did not arrive in time, at most 10 s",
    "Content-Type: text/plain, allowed: application/json",
    "calls from this address are not accepted",
    "limit of the table, 60 per minute",
    "limit of the app environment, 600 per minute",
}
"""Codes of the same form as other mistakes, or tested with addresses and deadlines."""


KINDS = sorted(all_refusals() - {InvalidField}, key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_refusal_has_a_detail_or_is_raised_with_one(kind):
    bare = re.findall(rf"\b(?:raise {kind.__name__}\b(?!\()|{kind.__name__}\(\))", SOURCES)
    assert kind.detail or kind.message or not bare


def test_the_page_has_every_code_under_its_status_and_no_other():
    groups = re.findall(r"(\d{3}) ((?:`[a-z_]+`(?:, )?)+)", PAGE)
    stated = {(code, int(status)) for status, codes in groups for code in re.findall("[a-z_]+", codes)}
    assert stated == {(kind.code, kind.status) for kind in KINDS} | FIELDS


def test_the_page_shows_details_as_they_are_sent():
    rows = [row.split(" | ") for row in PAGE.partition("## Control plane")[0].splitlines() if "` |" in row]
    shown = {text for row in rows for text in re.findall(r"`([^`]+)`", row[1]) if "…" not in text}
    assert shown <= {mistake.detail for mistake in MISTAKES.values()} | {k.detail for k in KINDS} | ELSEWHERE
