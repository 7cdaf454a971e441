"""Whole requests of the control and the credentials listener, through a gateway that runs on memory.

Each consists of two lines and the body: `TOKEN` is replaced by a valid token, and
`JWT` by one of the trusted issuer.
"""

import atexit
import json
import logging
import shutil
import tempfile
from asyncio import AbstractEventLoop, current_task, get_running_loop
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote_plus
from xml.etree import ElementTree as ET

import yaml

from gateway.app import App, build_app
from gateway.config.loading import parse
from gateway.domain.answers import Answer
from gateway.http.messages import Handler, Request
from gateway.http.receiving import Receiver
from gateway.http.service import Service
from gateway.observability.logs import JsonFormatter
from tests.credentialsplane.workloads import TOKEN, vouch, vouched
from tests.fuzz.oracle import check_text, secrets_in
from tests.fuzz.targets.coroutines import result_of
from tests.identity.issuer import trusted_from
from tests.support.clock import FakeClock
from tests.support.config import BASE, CONTROL_TOKEN, merged

_RULE = {"claim": "sub", "value": "system:serviceaccount:shop:api", "allow": ["read", "tables"]}
JWT = vouch().encode()
"""Good on both listeners; each process has a key of its own."""


def control_request(data: bytes) -> None:
    """Method and target, bearer, body: 4xx, or a good token; no proof of identity is repeated."""
    start, bearer, content = _three(data.replace(b"TOKEN", CONTROL_TOKEN.encode()).replace(b"JWT", JWT))
    method, _, target = start.partition(b" ")
    raw = b"%b %b HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\nAuthorization: Bearer %b\r\n\r\n%b"
    request = raw % (method, target, len(content), bearer, content)
    answer = _judged(request, running("control").handler, [bearer])
    if answer is None or answer.status == 204:
        return
    assert answer.status >= 400 or CONTROL_TOKEN.encode() in bearer or JWT in bearer
    _check_json(answer, json.loads(answer.body))


def credentials_request(data: bytes) -> None:
    """Method and target, `Authorization`, body: well-formed answers; credentials for a good token alone."""
    start, field, content = _three(data.replace(b"TOKEN", TOKEN.encode()).replace(b"JWT", JWT))
    method, _, target = start.partition(b" ")
    raw = b"%b %b HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\nAuthorization: %b\r\n\r\n%b"
    request = raw % (method, target, len(content), field, content)
    form = parse_qsl((target.partition(b"?")[2] + b"&" + content).decode("latin-1"))
    proofs = [value.encode() for name, value in form if name == "WebIdentityToken"]
    answer = _judged(request, running("credentials").handler, [field, *proofs])
    if answer is None:
        return
    shown = unquote_plus(b"\n".join((target, field, content)).decode("latin-1"))
    assert answer.status >= 400 or TOKEN in shown or JWT.decode() in shown
    if answer.content_type == "text/xml":
        ET.fromstring(answer.body)
    else:
        _check_json(answer, json.loads(answer.body))


@cache
def running(listener: str) -> Service:
    """Returns a listener's service of a gateway that trusts an issuer on both; no socket listens."""
    return app().replica._services[listener]


@cache
def app() -> App:
    """Returns that gateway, on memory."""
    folder = Path(tempfile.mkdtemp(prefix="kvs-fuzz-"))
    atexit.register(shutil.rmtree, folder)
    config = merged(BASE, vouched(folder, requests_per_minute_per_address=1_000_000_000))
    config["control"]["oidc"] = [{**trusted_from(folder), "rules": [_RULE]}]
    settings = parse(yaml.safe_dump(config), {})
    return result_of(build_app(settings, FakeClock()))


def _judged(raw: bytes, handler: Handler, proofs: Sequence[bytes]) -> Answer | None:
    """Returns the answer, no 5xx; it and the log repeat no proof. None if `raw` is not a request."""
    with _lines() as lines:
        answer = result_of(_answer(raw, handler))
    if answer is None:
        return None
    shown = "\n".join([*lines, *(f"{name}: {value}" for name, value in answer.fields)])
    assert answer.status < 500, shown
    hidden = [each for proof in proofs for each in secrets_in(proof) if raw.count(each) < 2]
    assert not any(each in shown.encode() or each in answer.body for each in hidden), shown
    return answer


class _Client:
    peer = "127.0.0.1"

    def invite(self) -> None:
        """Does nothing: the body is there."""

    def may_write(self) -> bool:
        return True


async def _answer(raw: bytes, handler: Handler) -> Answer | None:
    loop: AbstractEventLoop = get_running_loop()
    receiver = Receiver(loop, lambda: None, lambda: None)
    receiver.feed(raw)
    message = receiver.queue[0] if receiver.queue else None
    if message is None or not message[1].is_eof():
        return None
    task: Any = current_task()
    return (await handler(Request(*message, _Client(), task))).answer


def _check_json(answer: Answer, body: Any) -> None:
    """Checks that a refusal has a code, and the header that explains it."""
    if answer.status >= 400:
        assert isinstance(body["error"], str)
        check_text(dict(answer.fields)["x-kvs-error-detail"])


@contextmanager
def _lines() -> Iterator[list[str]]:
    """Collects the lines logged meanwhile, as operators see them."""
    written: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: written.append(JsonFormatter().format(record))  # type: ignore[method-assign]
    log = logging.getLogger("kvs")
    log.addHandler(handler)
    try:
        yield written
    finally:
        log.removeHandler(handler)


def _three(data: bytes) -> tuple[bytes, bytes, bytes]:
    first, _, rest = data.partition(b"\n")
    second, _, content = rest.partition(b"\n")
    return first, second, content
