"""Files mean what PyYAML says that they mean, except what could be misread: that is refused."""

import datetime as dt

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gateway.config.problems import InvalidConfiguration
from gateway.config.strict_yaml import read_yaml

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(),
    st.sampled_from(
        ["yes", "off", "0x10", "1_000", "1e3", "~", "", "<<", "=", "2026-11-20", "12:30:45", "null"]
    ),
    st.dates(),
)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)

WORDS = st.sampled_from(
    [
        "a",
        "b",
        "1",
        "'",
        ": ",
        ", ",
        "- ",
        "[",
        "]",
        "{",
        "}",
        "\n",
        "  ",
        "&x ",
        "*x",
        "<<: ",
        "!!str ",
        "!!int ",
    ],
)
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def meaning(text: str) -> object:
    """Reads a text with PyYAML and the same parser."""
    return yaml.load(text, LOADER)


@given(TREES, st.booleans())
def test_dumped_yaml_is_read_back(tree, flow):
    text = yaml.safe_dump(tree, default_flow_style=flow, allow_unicode=True)
    assert read_yaml(text) == meaning(text)


@given(st.lists(WORDS, max_size=20).map("".join))
def test_any_text_is_read_as_pyyaml_reads_it(text):
    try:
        tree = read_yaml(text)
    except (InvalidConfiguration, RecursionError):
        return
    assert tree == meaning(text)


@pytest.mark.parametrize(
    "text",
    [
        "a: &x {k: 1, l: 2}\nb: {<<: *x, l: 3}",
        "a: &x {k: 1}\nb: &y {k: 2, l: 2}\nc: {<<: [*x, *y], m: 3}",
        "a: &x {k: 1}\nb: {l: 2, <<: *x, <<: {k: 3}}",
        "a: &x [1, 2]\nb: [*x, *x]",
        "a: &x text\nb: *x",
        "- !!str 12\n- !!int '12'\n- ! 12\n- !!binary aGk=",
        "'<<': 1",
        "? a\n: b",
        "a: |\n  x\n  y\nb: >-\n  x\n  y",
        "1: a\n~: c",
        "",
        "# nothing",
        "--- a\n...",
    ],
)
def test_every_form_of_yaml_means_what_pyyaml_says(text):
    assert read_yaml(text) == meaning(text)


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\na: 2",
        "a: 1\n'a': 2",
        "{[a]: 1}",
        "{{a: 1}: 1}",
        "a: *x",
        "a: &x 1\nb: &x 2",
        "--- a\n--- b",
        "a: !!python/name:os.system x",
        "a: !!set {b, c}",
        "a: !other [b]",
        "a: {<<: [1]}",
        "a: {<<: text}",
        "a: [",
        "a: 2026-13-40",
        "!!int ''",
        "!!bool x",
        "!!timestamp x",
        "1: a\ntrue: b",
    ],
)
def test_ambiguous_yaml_is_refused(text):
    with pytest.raises(InvalidConfiguration):
        read_yaml(text)


@pytest.mark.parametrize("text", ["[" * 10_000, "a: &x [*x]", "a: &x {b: *x}", "- " * 10_000])
def test_too_deep_nesting_has_an_error_of_its_own(text):
    with pytest.raises(RecursionError):
        read_yaml(text)


def test_a_date_is_read_as_one():
    assert read_yaml("2026-11-20") == dt.date(2026, 11, 20)
