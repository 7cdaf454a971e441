"""Signed requests that can be changed byte by byte after signing."""

import hmac
from dataclasses import dataclass, replace
from hashlib import sha256

from multidict import CIMultiDict

from tests.support.config import TABLE_TOKEN
from tests.support.gateway import Gateway, Reply
from tests.support.signing import REGION, Signer

BODY = b'{"key": "k", "value": "v"}'
SECRET = "test-secret-access-key"


@dataclass(frozen=True)
class Wire:
    """One POST as bytes."""

    fields: tuple[tuple[bytes, bytes], ...]
    body: bytes = BODY
    target: bytes = b"/v1/put"

    def but(self, **changes) -> "Wire":
        return replace(self, **changes)

    def value(self, name: str) -> bytes:
        return next(value for field, value in self.fields if field.lower() == name.lower().encode())

    def drop(self, name: str) -> "Wire":
        return self.but(
            fields=tuple(field for field in self.fields if field[0].lower() != name.lower().encode())
        )

    def add(self, name: str, value: str | bytes) -> "Wire":
        content = value.encode() if isinstance(value, str) else value
        return self.but(fields=(*self.fields, (name.encode(), content)))

    def set(self, name: str, value: str | bytes) -> "Wire":
        return self.drop(name).add(name, value)

    def edit(self, old: str | bytes, new: str | bytes, name: str = "Authorization") -> "Wire":
        """Replaces a part of an existing field."""
        old, new = (text.encode() if isinstance(text, str) else text for text in (old, new))
        value = self.value(name)
        assert old in value
        return self.set(name, value.replace(old, new))

    async def send(self, gateway: Gateway) -> Reply:
        length = b"%d" % len(self.body)
        fields = (*self.fields, (b"Content-Length", length), (b"Connection", b"close"))
        head = b"".join(name + b": " + value + b"\r\n" for name, value in fields)
        received = await gateway.send_raw(
            b"POST " + self.target + b" HTTP/1.1\r\n" + head + b"\r\n" + self.body
        )
        return read_reply(received)


def read_reply(received: bytes) -> Reply:
    head, _, body = received.partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    headers = CIMultiDict(line.split(": ", 1) for line in lines)
    return Reply(int(status.split(" ")[1]), headers, body)


def signed(
    gateway: Gateway,
    *,
    signer: Signer | None = None,
    body: bytes = BODY,
    target: str = "/v1/put",
    headers: dict[str, str] | None = None,
    token: str | None = TABLE_TOKEN,
    late_seconds: int = 0,
) -> Wire:
    """Returns a put signed by botocore, `late_seconds` ago by the gateway's clock."""
    fields = {"Content-Type": "application/json", **(headers or {})}
    if token is not None:
        fields["X-KVS-Authorization"] = f"Bearer {token}"
    at_seconds = gateway.clock.wall_ms() // 1000 - late_seconds
    sent = (signer or gateway.signer).sign(gateway.data + target, body, fields, at_seconds=at_seconds)
    return Wire(tuple((name.encode(), value.encode()) for name, value in sent.items()), body, target.encode())


def sign_by_hand(fields: dict[str, str], *, names: str, date: str, body: bytes = BODY) -> Wire:
    """Returns a put signed step by step, for requests that no library would sign."""
    values = {name.lower(): value for name, value in fields.items()}
    lines = [f"{name}:{values.get(name, '')}" for name in names.split(";")]
    canonical = "\n".join(["POST", "/v1/put", "", *lines, "", names, sha256(body).hexdigest()])
    scope = f"{date[:8]}/{REGION}/execute-api/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", date, scope, sha256(canonical.encode()).hexdigest()])
    key = f"AWS4{SECRET}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    authorization = (
        f"AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    sent = {
        **fields,
        "Content-Type": "application/json",
        "X-KVS-Authorization": f"Bearer {TABLE_TOKEN}",
        "Authorization": authorization,
    }
    return Wire(tuple((name.encode(), value.encode()) for name, value in sent.items()), body)


def assert_refused(reply: Reply, code: str, error_type: str, message: str | None = None) -> None:
    """Asserts the complete form of a refusal by layer 1."""
    assert (reply.status, reply.json["error"]) == (403, code), reply.body
    assert set(reply.json) == {"error", "message"}
    assert reply.headers["x-amzn-ErrorType"] == error_type
    assert reply.headers["Content-Type"] == "application/json"
    assert reply.headers["x-request-id"]
    if message is not None:
        assert reply.json["message"] == message
