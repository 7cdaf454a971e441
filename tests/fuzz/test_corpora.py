"""Every input in the corpora: refused or accepted correctly, and judged without delay."""

import time

import pytest

from tests.fuzz.targets import CORPUS, TARGETS
from tests.fuzz.targets.listeners import app
from tests.fuzz.targets.tokens import TOKENS
from tests.support.evidence import note

INPUTS = [(target, file) for target in TARGETS for file in sorted((CORPUS / target).iterdir())]
MAX_CPU_SECONDS = 0.25


@pytest.mark.parametrize(("target", "file"), INPUTS, ids=lambda each: getattr(each, "name", each))
def test_a_kept_input_keeps_the_promises(target, file):
    data = file.read_bytes()
    began = time.thread_time()
    TARGETS[target](data)
    assert time.thread_time() - began < MAX_CPU_SECONDS
    note(tried=1)


def test_kept_requests_reach_their_handlers():
    """A target whose inputs never become requests would find nothing."""
    for target, file in INPUTS:
        if target.endswith(("_request", "web_token")):
            TARGETS[target](file.read_bytes())
    counted = app().control.handler.counted
    done = {action for action, outcome in counted if outcome == "done"}
    assert done >= {
        "app.register",
        "app.change",
        "table.create",
        "table.rotate",
        "credentials.issue",
        "app.list",
    }
    assert counted["authenticate", "refused"] > 0
    issued = app().credentials.handler.counted
    assert issued["web_identity", "issued"] > 0
    assert issued["container", "issued"] > 0
    assert len(TOKENS._cache) > 0


def test_there_is_a_corpus_for_each_target_and_no_other():
    assert {folder.name for folder in CORPUS.iterdir()} == set(TARGETS)


def test_the_corpora_stay_small():
    files = [file for _, file in INPUTS]
    assert len(files) < 250
    assert sum(file.stat().st_size for file in files) < 200_000
