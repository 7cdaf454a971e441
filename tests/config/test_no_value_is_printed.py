"""No report prints a secret, wherever in a file it stands and whatever is wrong with it."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.config.loading import parse
from gateway.config.problems import InvalidConfiguration

CANARY = "canary-7f3a-4d2e"
FULL = yaml.safe_load((Path(__file__).with_name("good") / "everything.yaml").read_text())
SHAPES = [
    CANARY,
    f"kvs_{CANARY}\n",
    f"file:/{CANARY}",
    "${KVS_TEST_CANARY}",
    [f"${{NAME:-{CANARY}}}"],
    {"unknown": CANARY},
]


def _places(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    children = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, child in children:
        yield from _places(child, (*path, key))


def _with(tree: Any, path: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(tree)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return changed


def _report(text: str) -> str:
    try:
        parse(text, {"KVS_TEST_CANARY": CANARY})
    except InvalidConfiguration as error:
        return f"{error} {error.args} {error.problems} {error.__cause__}"
    return ""


PLACES = list(_places(FULL))


@pytest.mark.parametrize("shape", SHAPES, ids=range(len(SHAPES)))
def test_a_value_in_any_place_is_not_in_the_report(shape):
    for place in PLACES:  # as JSON, which is YAML as well: PyYAML writes it thirty times slower
        assert CANARY not in _report(json.dumps(_with(FULL, place, shape), default=str)), place


def test_values_in_all_places_together_are_not_in_the_report():
    tree = FULL
    for place in PLACES:
        if not isinstance(_at(FULL, place), dict | list):
            tree = _with(tree, place, CANARY)
    assert CANARY not in _report(yaml.safe_dump(tree))


@given(
    cut=st.integers(0, 2000),
    noise=st.sampled_from(["\t", "[", "{", "'", '"', "&a ", "*a ", "!!", "%", "\0", ": "]),
)
@settings(max_examples=60, deadline=None)
def test_a_file_that_is_not_yaml_is_not_quoted(cut, noise):
    text = yaml.safe_dump(_with(FULL, ("control", "tokens"), [CANARY] * 30))
    assert CANARY not in _report(text[:cut] + noise + CANARY + text[cut:])


def _at(tree: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        tree = tree[key]
    return tree


@pytest.mark.parametrize("value", ["${KVS_UNSET}", "file:/nowhere", ["file:/nowhere"], {"a": "${KVS_UNSET}"}])
@pytest.mark.parametrize("section", [(), ("control",), ("apps", 0)], ids=str)
def test_a_value_that_became_a_key_is_not_in_the_report(section, value):
    report = _report(yaml.safe_dump(_with(FULL, (*section, f"{CANARY}, x"), value)))
    assert "nowhere" in str(value) or "KVS_UNSET" in report
    assert CANARY not in report


def test_printed_settings_do_not_show_what_they_hold():
    settings = parse(f"region: r\ncontrol: {{tokens: [{CANARY}]}}", {})
    assert CANARY not in f"{settings} {settings.control!r}"
