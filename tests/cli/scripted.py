"""A server whose bytes are scripted: commands run against it in this thread, without sockets."""

import contextlib
import io
import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Self
from unittest import mock

from gateway.cli import control_client, prometheus, transport, upgrading
from gateway.cli.main import main
from gateway.cli.transport import Deadline
from tests.cli.conftest import Result
from tests.support.config import CONTROL_TOKEN, ROLE

URL = "http://gateway.example:8081"
TOKEN = "kvs_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA2mM1Al"
_APP = ("--org", "acme", "--app", "blog")
_TABLE = (*_APP, "--name", "posts")

APP = {
    "id": "blog",
    "org_id": "acme",
    "app_id": "blog",
    "env_id": "production",
    "type": "api",
    "status": "active",
    "requests_per_minute": 600,
    "max_tables": 3,
    "max_bytes": None,
}
TABLE = {
    "id": "0123456789abcdef",
    "org_id": "acme",
    "app_id": "blog",
    "env_id": "production",
    "name": "posts",
    "status": "active",
    "kvs_url": "https://kvs.example",
    "env_var_name": "SERVICE_KVS_TOKEN_POSTS",
    "token_last_four": TOKEN[-4:],
    "minute_limit": 600,
    "disabled_at": None,
    "created_at": "2026-11-01T00:00:00.000Z",
    "updated_at": "2026-11-01T00:00:00.000Z",
}
STATS = {"entries": 3, "bytes": 120, "counted_at": "2026-11-01T00:00:00.000Z", "exact": True}
ISSUED = {
    "table": TABLE,
    "token": TOKEN,
    "runtime": {
        "SERVICE_KVS_URL": "https://kvs.example",
        "SERVICE_KVS_REGION": "eu-central-1",
        "SERVICE_KVS_TOKEN_POSTS": TOKEN,
    },
}
CREDENTIALS = {
    "Version": 1,
    "AccessKeyId": "ASIA0123456789ABCDEF",
    "SecretAccessKey": "secret",
    "SessionToken": "claims.proof",
    "Expiration": "2026-11-01T01:00:00.000Z",
}
CALLER = {"name": "ci", "issuer": None, "allow": ["read"], "orgs": ["*"], "apps": ["*"], "grants": []}
SAMPLES = {
    "data": {
        "result": [
            {
                "metric": {
                    "__name__": "kvs_usage_requests_total",
                    "org": "acme",
                    "app": "blog",
                    "job": "kvs",
                },
                "values": [[1_793_491_260, "5"], [1_793_491_320, "7"]],
            }
        ]
    }
}

COMMANDS: dict[tuple[str, ...], object] = {
    ("orgs", "list"): [{"id": "acme", "name": "acme"}],
    ("whoami",): CALLER,
    ("apps", "register", *_APP, "--type", "api"): APP,
    ("apps", "set", *_APP, "--type", "api"): APP,
    ("apps", "list", "--org", "acme"): [APP],
    ("apps", "show", *_APP): APP,
    ("apps", "suspend", *_APP): APP,
    ("apps", "resume", *_APP): APP,
    ("apps", "remove", *_APP, "--yes"): None,
    ("tables", "list", *_APP): [TABLE],
    ("tables", "show", *_TABLE): TABLE,
    ("tables", "stats", *_TABLE): STATS,
    ("tables", "set", *_TABLE, "--minute-limit", "5"): TABLE,
    ("tables", "create", *_TABLE): ISSUED,
    ("tables", "create", *_TABLE, "--if-missing"): ISSUED,
    ("tables", "create", *_TABLE, "--format", "env"): ISSUED,
    ("tables", "create", *_TABLE, "--format", "k8s-secret"): ISSUED,
    ("tables", "rotate", *_TABLE): ISSUED,
    ("tables", "rotate", *_TABLE, "--format", "env"): ISSUED,
    ("tables", "upgrade", *_TABLE): {"done": True, "moved": 3, "scanned": 500, "cursor": None},
    ("tables", "delete", *_TABLE, "--yes"): None,
    ("credentials", "issue", "--role", ROLE): CREDENTIALS,
    ("usage", "--from", "2026-11-01", "--to", "2026-11-01T00:05:00Z"): SAMPLES,
    ("usage", "--from", "2026-11-01", "--to", "2026-11-01T00:05:00Z", "--format", "csv"): SAMPLES,
}
"""Every command that calls a server, with an answer that it expects."""

CREATE = ("tables", "create", *_TABLE)


class Connection:
    """A connection on which the server sends these pieces, however many bytes are read at once."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._rest = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def settimeout(self, seconds: float) -> None:
        assert seconds > 0

    def send(self, data: memoryview) -> int:
        return len(data)

    def recv_into(self, buffer: memoryview) -> int:
        piece = self._rest or next(self._pieces, b"")
        count = min(len(piece), len(buffer))
        buffer[:count] = piece[:count]
        self._rest = piece[count:]
        return count


def http(body: bytes, *fields: str, status: int = 200) -> bytes:
    """A whole response."""
    head = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", *fields]
    return "".join(f"{line}\r\n" for line in head).encode("latin-1") + b"\r\n" + body


def as_json(answer: object, *fields: str) -> bytes:
    return http(b"" if answer is None else json.dumps(answer).encode(), *fields)


@contextlib.contextmanager
def answering(respond: Callable[[], Iterable[bytes]], clock: Callable[[], float]) -> Iterator[None]:
    """Answers each request with pieces that `respond` returns; lists and upgrades have 5 calls at most."""
    deadline = partial(Deadline, clock=clock)
    environ = {"KVS_CONTROL_TOKEN": CONTROL_TOKEN, "KVS_CONTROL_URL": URL}
    with (
        mock.patch.object(transport, "_connect", side_effect=lambda *_: Connection(respond())),
        mock.patch.object(control_client, "_MAX_PAGES", 5),
        mock.patch.multiple(upgrading, MAX_CALLS=5, PAUSE_SECONDS=0),
        mock.patch.object(control_client, "Deadline", deadline),
        mock.patch.object(prometheus, "Deadline", deadline),
        mock.patch.dict("os.environ", environ),
    ):
        yield


def run(
    command: tuple[str, ...],
    respond: Callable[[], Iterable[bytes]],
    clock: Callable[[], float] = lambda: 0.0,
) -> Result:
    """Runs a command to its end; deadlines are those of `clock`."""
    server = ("--prometheus", URL) if command[0] == "usage" else ()
    out, err = io.StringIO(), io.StringIO()
    with answering(respond, clock), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([*command, *server])
    return Result(code, out.getvalue(), err.getvalue())
