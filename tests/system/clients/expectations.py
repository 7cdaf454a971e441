"""Checks of a driver's answers and a scripted server's requests against the expectations of a scenario."""

import base64
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from tests.system.clients.scenarios import ANY, Call
from tests.system.clients.scripted import Seen


def check_answers(call: Call, answers: Sequence[dict[str, Any]]) -> None:
    """Checks all answers to one call."""
    if call.results is not None:
        assert Counter(_kind(each) for each in answers) == call.results, answers
    else:
        for answer in answers:
            _check_outcome(call, answer)
    for answer in answers:
        _check_duration(call, answer["seconds"])


def check_error(expected: dict[str, Any], answer: dict[str, Any]) -> None:
    error = answer.get("error")
    assert error is not None, answer
    for name, value in expected.items():
        if name == "hint":
            assert value in error["hint"], error
        elif value == ANY:
            assert error[name] is not None, error
        else:
            assert error[name] == value, error


def check_seen(expected: dict[str, Any], seen: Sequence[Seen]) -> None:
    """Checks the requests that the server got from all calls."""
    checks = {
        "requests": lambda count: len(seen) == count,
        "operations": lambda names: [each.path.rpartition("/")[2] for each in seen if each.path] == names,
        "same_body": lambda _: len({each.body for each in seen if each.path}) == 1,
        "fields": lambda fields: all(fields.items() <= each.fields.items() for each in seen),
        "absent": lambda names: not {name for each in seen for name in each.fields} & set(names),
        "gaps_not_shorter_than_seconds": lambda seconds: all(
            after.at_seconds - before.at_seconds >= seconds for before, after in pairwise(seen)
        ),
        "first_gap_not_shorter_than_seconds": lambda seconds: (
            seen[1].at_seconds - seen[0].at_seconds >= seconds
        ),
        "sent_less_than_bytes": lambda size: all(each.answered_bytes < size for each in seen),
        "connections": lambda kinds: _connections(seen) == kinds,
        "signed_anew": lambda _: len({each.fields["authorization"] for each in seen}) == len(seen),
    }
    for name, value in expected.items():
        assert checks[name](value), (name, value, seen)


def _connections(seen: Sequence[Seen]) -> list[str]:
    """Names the connection of each request: that of the request before, a new one, or an older one."""
    numbers = [0, *(each.connection for each in seen)]
    return [
        "same" if number == numbers[at] else "older" if number in numbers[:at] else "new"
        for at, number in enumerate(numbers[1:])
    ]


def _kind(answer: dict[str, Any]) -> str:
    return answer["error"]["type"] if "error" in answer else "ok"


def _check_outcome(call: Call, answer: dict[str, Any]) -> None:
    if call.error is not None:
        return check_error(call.error, answer)
    assert "error" not in answer, answer
    result, expected = answer["result"], call.result
    if isinstance(result, dict) and "raw_base64" in result:
        raw = base64.b64decode(result.pop("raw_base64")).decode()
        result["raw"] = raw
    if isinstance(expected, dict) and expected.get("expires_at") == ANY:
        assert result["expires_at"].endswith("Z")
        expected = {**expected, "expires_at": result["expires_at"]}
    assert result == expected
    return None


def _check_duration(call: Call, seconds: float) -> None:
    if call.earlier_than_seconds is not None:
        assert seconds < call.earlier_than_seconds
    if call.not_earlier_than_seconds is not None:
        assert seconds >= call.not_earlier_than_seconds
