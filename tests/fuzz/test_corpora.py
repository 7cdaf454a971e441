"""Every input that is kept in the corpora: refused as it should be, or right, and judged without delay."""

import time

import pytest

from tests.fuzz.targets import CORPUS, TARGETS
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


def test_there_is_a_corpus_for_each_target_and_no_other():
    assert {folder.name for folder in CORPUS.iterdir()} == set(TARGETS)


def test_the_corpora_stay_small():
    files = [file for _, file in INPUTS]
    assert len(files) < 200
    assert sum(file.stat().st_size for file in files) < 200_000
