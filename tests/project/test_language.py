"""The check of the language finds headless docstrings and flagged words, and nothing else."""

import pytest

from tests.project.language import flagged, headless


@pytest.mark.parametrize("first", ["What is cached", "Who asks", "Of one app", "None if nothing is found"])
def test_headless_docstrings_are_found_in_functions_and_attributes(first):
    source = f'def f():\n    """{first}."""\n\n\nLIMIT = 1\n"""{first}."""\n'
    assert {finding.line for finding in headless("x.py", source)} == {2, 6}


@pytest.mark.parametrize("first", ["Returns what is cached", "Encrypted page cursors", "Offset of a page"])
def test_verbs_and_noun_phrases_are_accepted(first):
    assert not list(headless("x.py", f'"""{first}."""\n'))


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("The owner is told of it.", "told"),
        ("The next call is refused, too.", "too"),
        ("# at the\n# most ten", "at the most"),
        ("def test_whoever_asks_is_answered():", "whoever"),
        ("Be it that it cannot read", "be it that"),
    ],
)
def test_flagged_words_are_found_in_prose_comments_and_names(text, phrase):
    assert [finding.phrase for finding in flagged("x.md", text)] == [phrase]


@pytest.mark.parametrize("text", ["Too many apps.", "The value is too large.", "recommended", "untold"])
def test_ordinary_words_are_accepted(text):
    assert not list(flagged("x.md", text))
