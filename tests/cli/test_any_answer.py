"""Any answer to any command gives an exit code and JSON: no traceback, and nothing that a terminal obeys."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli.parsing import commands_of, whole_parser
from tests.cli.scripted import COMMANDS, as_json, http, run

LOCAL = {"serve", "check", "dev", "version"}
LINK = 'Link: </v1/orgs/acme/apps?after=x>; rel="next"'

hostile_text = st.sampled_from(
    ["", "\x1b[2J", "\x9b1m", "\u202e", "\x00", "\n", "A" * 5_000, "$(id)", "X=1;touch pwned;Y", "\U000e0001"]
)
hostile_number = st.sampled_from([-1, 0, 10**30, 2**63, 1e308, -1e-308, 0.5, 1_793_491_260])
hostile = st.recursive(
    st.none() | st.booleans() | hostile_number | hostile_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(hostile_text, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def mutated(draw, answer):
    """The expected answer, with something hostile in one of its places."""
    if not answer or not isinstance(answer, dict | list) or draw(st.integers(0, 5)) == 0:
        return draw(hostile)
    places = list(answer) if isinstance(answer, dict) else range(len(answer))
    place = draw(st.sampled_from(places))
    changed = {**answer} if isinstance(answer, dict) else [*answer]
    changed[place] = draw(mutated(answer[place]))
    if isinstance(changed, dict) and draw(st.booleans()):
        changed[draw(hostile_text)] = draw(hostile)
    return changed


@st.composite
def responses(draw, answer):
    """Bytes of a response: well-formed with a hostile body, or cut, spliced, or anything."""
    body = json.dumps(draw(mutated(answer) | st.just(answer))).encode()
    detail = draw(st.sampled_from(["x-kvs-error-detail: \x1b]0;x\x07", "A: b", "Content-Length: -1"]))
    fields = draw(st.sampled_from([(), (LINK,), (detail,), ("Transfer-Encoding: chunked",)]))
    status = draw(st.sampled_from([200, 200, 200, 201, 204, 302, 401, 404, 409, 422, 503]))
    response = http(body, *fields, status=status)
    start, end = sorted(draw(st.tuples(*[st.integers(0, len(response))] * 2)))
    return draw(
        st.just(response) | st.binary(max_size=8).map(lambda noise: response[:start] + noise + response[end:])
    )


def _check(command: tuple[str, ...], result) -> None:
    assert 0 <= result.code <= 5
    assert "Traceback" not in result.err
    assert re.sub(r"[\r\n]", "", result.out + result.err).isprintable()
    if result.code:
        assert result.out == (f"(exit {result.code})\n" if "env" in command else "")
        assert {"error", "detail"} <= result.error.keys()
    elif not {"env", "k8s-secret", "csv"} & {*command}:
        assert json.loads(result.out, parse_constant=_no_json) is not None


def _no_json(constant: str) -> None:
    raise AssertionError(constant)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@given(data=st.data())
@settings(max_examples=20)
def test_any_answer_gives_an_exit_code_and_json(command, data):
    answers = responses(COMMANDS[command])
    _check(command, run(command, lambda: [data.draw(answers)]))


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_expected_answer_succeeds(command):
    assert run(command, lambda: [as_json(COMMANDS[command])]).code == 0


def test_every_command_that_calls_a_server_is_covered():
    commands = {*commands_of(whole_parser())}
    covered = {" ".join(word for word in command[:2] if not word.startswith("-")) for command in COMMANDS}
    assert commands - LOCAL == covered
