"""Settings that msgspec decodes at once are those of the walk that notes every mistake."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.config import decoding
from gateway.config.decoding import decode
from gateway.config.interpolation import Interpolated
from gateway.config.problems import Problems
from gateway.config.settings import Settings
from gateway.config.strict_yaml import read_yaml

FILES = [Path("config.example.yaml"), *sorted(Path(__file__).parent.glob("good/*.yaml"))]

VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-1, 700),
        st.floats(allow_nan=False),
        st.sampled_from(["o", "api", "memory", "required", "", "a b", "x" * 64, "0" * 64]),
        st.sampled_from(["600", "1.5", "true", "api"]).map(Interpolated),
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["org", "app", "type", "tables", "name", "token", "kind", "port", 1]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)
SECTIONS = st.dictionaries(
    st.sampled_from([*Settings.__struct_fields__, "x"]), VALUES, max_size=4
) | st.fixed_dictionaries({"region": st.just("r")}, optional={"apps": VALUES, "listen": VALUES})


def both(tree: object) -> None:
    quickly, slowly = Problems(), Problems()
    decoded = decode(Settings, tree, "", quickly)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoding, "_decode_item", walk_item)
        assert decoded == decode(Settings, tree, "", slowly)
    assert quickly.found == slowly.found


def walk_item(kind, tree, path, index, problems):
    return decode(kind, tree, f"{path}[{index}]", problems)


@given(SECTIONS)
def test_any_tree_is_the_same_settings_and_the_same_mistakes(tree):
    both(tree)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_file_is_the_same_settings(file):
    both(read_yaml(file.read_text()))
