"""Pairs of refused attempts, of which one is closer to a secret than the other."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from secrets import choice
from types import SimpleNamespace

from backends.clock import SystemClock
from gateway.credentials.keyring import AccessKey, ApprovedRoles, Keyring
from gateway.credentials.session import SessionCredentials
from gateway.dataplane.policies.caller import SignaturePolicy
from gateway.directory.tokens import PREFIX, _checksum, new_token
from gateway.domain.call import Call, Headers
from gateway.domain.errors import Refusal
from gateway.domain.model import Caller, Operation
from gateway.sigv4 import SignatureRules
from lab.timing.comparison import Attempt, Pair
from tests.directory.region import Region, Replica
from tests.fuzz.targets.coroutines import result_of
from tests.support.clock import FakeClock
from tests.support.config import MASTER_KEY, ROLE, TABLE_TOKEN
from tests.support.signing import REGION, Signer
from tests.support.wire import head, signed_fields

CLOCK = FakeClock()
BODY = b'{"key":"k"}'


def other_digit(digit: str) -> str:
    return "0" if digit != "0" else "1"


def wrong_first(digits: str) -> str:
    return other_digit(digits[0]) + digits[1:]


def wrong_last(digits: str) -> str:
    return digits[:-1] + other_digit(digits[-1])


def signatures() -> Pair:
    """The right signature but for its first digit, and but for its last."""
    policy = SignaturePolicy(
        rules=SignatureRules(region=REGION),
        keyring=Keyring({"AKIDEXAMPLE": AccessKey(b"test-secret-access-key", Caller(ROLE))}, None),
        roles=ApprovedRoles(["*"]),
        proxy=None,
        clock=CLOCK,
    )
    fields = Signer().sign("http://kvs/v1/get", BODY, {}, at_seconds=CLOCK.wall_ms() / 1000)
    stated, _, digits = fields["Authorization"].rpartition("=")

    def attempt(signature: str) -> Attempt:
        sent = {**fields, "Authorization": f"{stated}={signature}"}
        headers = Headers([(name.encode(), value.encode()) for name, value in sent.items()])
        call = Call(Operation.GET, b"/v1/get", headers, BODY, "")
        return lambda: _refused(policy.verify, call)

    return attempt(wrong_first(digits)), attempt(wrong_last(digits))


def session_proofs() -> Pair:
    """A session token whose proof is wrong in its first character, and in one near its end."""
    sessions = SessionCredentials([MASTER_KEY], CLOCK)
    issued = sessions.issue(ROLE, 3600, None)
    claims, _, proof = issued.session_token.partition(".")
    near_end = proof[:-3] + ("A" if proof[-3] != "A" else "B") + proof[-2:]
    first = ("A" if proof[0] != "A" else "B") + proof[1:]

    def attempt(sent: str) -> Attempt:
        token = f"{claims}.{sent}".encode()
        return lambda: _refused(sessions.open, token, issued.access_key_id)

    return attempt(first), attempt(near_end)


def well_formed_tokens() -> Pair:
    """Table tokens nobody has: a stranger, and all but one character of one that somebody has."""
    replica, existing = _replica_with_a_table()
    place = choice(range(len(PREFIX), len(existing) - 6))
    body = existing[:place] + other_digit(existing[place]) + existing[place + 1 : -6]
    return _resolved(replica, new_token()), _resolved(replica, body + _checksum(body.encode()).decode())


def malformed_tokens() -> Pair:
    """The same, mistyped: refused by their checksums."""
    replica, existing = _replica_with_a_table()
    return _resolved(replica, wrong_last(new_token())), _resolved(replica, wrong_last(existing))


def by_design() -> Pair:
    """A malformed token, refused by its checksum; a well-formed one at first sight, which is looked up."""
    replica = Region().replica()
    malformed = wrong_last(new_token()).encode()
    return (
        lambda: result_of(replica.bindings.resolve(malformed)),
        lambda: result_of(replica.bindings.resolve(new_token().encode())),
    )


def _replica_with_a_table() -> tuple[Replica, str]:
    replica = Region().replica()
    result_of(replica.register())
    return replica, result_of(replica.create())


def _resolved(replica: Replica, token: str) -> Attempt:
    """The look-up of a token that is known to be unknown."""
    sent = token.encode()
    assert result_of(replica.bindings.resolve(sent)) is None

    def resolve() -> None:
        with suppress(StopIteration):  # as a coroutine ends that has not waited
            replica.bindings.resolve(sent).send(None)
            raise AssertionError("it was not answered from memory")

    return resolve


class Line:
    """A kept connection that asks, and reads answers of one length; each must be a refusal."""

    def __init__(self, url: str) -> None:
        host, port = url.removeprefix("http://").split(":")
        self._socket = socket.create_connection((host, int(port)), timeout=5)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self) -> None:
        self._socket.close()

    def attempt(self, fields: dict[str, str]) -> Attempt:
        request = head("/v1/get", [*fields.items(), ("Content-Length", len(BODY))]) + BODY
        self._socket.sendall(request)
        length = len(self._socket.recv(4096))

        def ask() -> None:
            self._socket.sendall(request)
            answer = self._socket.recv(4096)
            while len(answer) < length:
                answer += self._socket.recv(4096)
            assert answer[9:12] in (b"401", b"403")

        return ask


@contextmanager
def over_http(url: str) -> Iterator[dict[str, Callable[[], Pair]]]:
    """The same over a connection to a process with the configuration of the tests."""
    client = SimpleNamespace(data=url, signer=Signer(), clock=SystemClock())
    line = Line(url)

    def signatures() -> Pair:
        right = dict(signed_fields(client, BODY, "/v1/get"))
        stated, _, digits = right["Authorization"].rpartition("=")
        first, last = (f"{stated}={wrong(digits)}" for wrong in (wrong_first, wrong_last))
        return line.attempt({**right, "Authorization": first}), line.attempt({**right, "Authorization": last})

    def tokens() -> Pair:
        first, last = wrong_first(TABLE_TOKEN), wrong_last(TABLE_TOKEN)
        fields = [dict(signed_fields(client, BODY, "/v1/get", token=token)) for token in (first, last)]
        return line.attempt(fields[0]), line.attempt(fields[1])

    try:
        yield {
            "over HTTP: signature wrong in its first digit, or in its last": signatures,
            "over HTTP: table token wrong in its first character, or in its last": tokens,
        }
    finally:
        line.close()


def _refused(attempt: Callable[..., object], *arguments: object) -> None:
    with suppress(Refusal):
        attempt(*arguments)
        raise AssertionError("it was not refused")


IN_PROCESS: dict[str, Callable[[], Pair]] = {
    "signature wrong in its first digit, or in its last": signatures,
    "proof of a session token wrong in its first character, or near its end": session_proofs,
    "table token: a stranger, or all but one character of a known one": well_formed_tokens,
    "malformed table token: a stranger, or a known one mistyped": malformed_tokens,
}
