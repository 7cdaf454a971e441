"""Any bytes, and kept inputs with some bytes replaced: refused correctly, or accepted correctly."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.targets import CORPUS, TARGETS

MODERATE = settings(max_examples=200, deadline=None)


@st.composite
def spliced(draw, inputs: list[bytes]) -> bytes:
    """A kept input with a piece of another one, or of noise, in place of a piece of its own."""
    data, other = draw(st.sampled_from(inputs)), draw(st.sampled_from(inputs))
    start, end = sorted(draw(st.tuples(st.integers(0, len(data)), st.integers(0, len(data)))))
    first, last = sorted(draw(st.tuples(st.integers(0, len(other)), st.integers(0, len(other)))))
    return data[:start] + draw(st.binary(max_size=8) | st.just(other[first:last])) + data[end:]


@pytest.mark.parametrize("target", TARGETS)
@given(data=st.data())
@MODERATE
def test_any_input_keeps_the_promises(target, data):
    inputs = [file.read_bytes() for file in sorted((CORPUS / target).iterdir())]
    TARGETS[target](data.draw(st.binary(max_size=100) | spliced(inputs)))
