"""Mutations of requests that have broken servers; the same for the same seed."""

import random
from collections.abc import Callable, Sequence

Mutation = Callable[[random.Random, bytes], bytes]

SEPARATORS = [
    b"\r\n",
    b"\n",
    b"\r",
    b": ",
    b":",
    b" ",
    b"\t",
    b"\0",
    b",",
    b";",
    b"\r\n ",
    b"\r\n\t",
    b"\x0b",
]
FIELDS = [
    b"Content-Length: 0", b"Content-Length: 5", b"Content-Length: -1", b"Content-Length: 1e3",
    b"Content-Length: 18446744073709551616", b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity",
    b"Transfer-Encoding: chunked, chunked", b"Transfer-Encoding:\x0bchunked", b"Transfer-Encoding : chunked",
    b"Host: evil.example", b"Host:", b"Connection: upgrade", b"Connection: close, keep-alive",
    b"Upgrade: websocket", b"Upgrade: h2c", b"Expect: 100-continue", b"Expect: x", b"Content-Encoding: gzip",
    b"Authorization: AWS4-HMAC-SHA256 Credential=a/b/c/d/e, SignedHeaders=host, Signature=0",
    b"X-Amz-Date: 99999999T999999Z", b"X-Amz-Content-Sha256: UNSIGNED-PAYLOAD",
    b"X-KVS-Authorization: Bearer",
    b"X-KVS-Caller-Arn: x", b"x-request-id: \xff", b"Trailer: Authorization", b"Content-Type: \xc3\xa4",
]  # fmt: skip
STARTS = [
    b"GET /v1/get HTTP/1.1", b"POST /v1/get HTTP/1.0", b"POST /v1/get HTTP/0.9", b"POST /v1/get", b"GET /",
    b"POST * HTTP/1.1", b"OPTIONS * HTTP/1.1", b"POST //v1/get HTTP/1.1", b"POST /v1/%67et HTTP/1.1",
    b"CONNECT a:1 HTTP/1.1", b"POST http://[::1/v1/get HTTP/1.1", b"PRI * HTTP/2.0", b"post /v1/get HTTP/1.1",
    b"POST /v1/get HTTP/1.1 HTTP/1.1", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"",
]  # fmt: skip
CHUNK_SIZES = [b"-1", b"0x5", b"5 ", b"+5", b"ffffffffffffffff", b"", b"5;a=b", b"5;\0", b"00000005", b"5\n"]


def _replace_bytes(chance: random.Random, call: bytes) -> bytes:
    at = chance.randrange(len(call))
    return call[:at] + chance.randbytes(chance.randint(0, 4)) + call[at + chance.randint(0, 4) :]


def _insert_separator(chance: random.Random, call: bytes) -> bytes:
    at = chance.randrange(len(call))
    return call[:at] + chance.choice(SEPARATORS) + call[at:]


def _swap_separator(chance: random.Random, call: bytes) -> bytes:
    return call.replace(chance.choice(SEPARATORS[:6]), chance.choice(SEPARATORS), chance.randint(1, 3))


def _add_field(chance: random.Random, call: bytes) -> bytes:
    start, separator, rest = call.partition(b"\r\n")
    return start + separator + chance.choice(FIELDS) + separator + rest


def _remove_field(chance: random.Random, call: bytes) -> bytes:
    head, end, body = call.partition(b"\r\n\r\n")
    start, *fields = head.split(b"\r\n")
    if fields:
        fields.pop(chance.randrange(len(fields)))
    return b"\r\n".join([start, *fields]) + end + body


def _repeat_field(chance: random.Random, call: bytes) -> bytes:
    head, end, body = call.partition(b"\r\n\r\n")
    start, *fields = head.split(b"\r\n")
    if fields:
        fields.insert(chance.randrange(len(fields)), chance.choice(fields))
    return b"\r\n".join([start, *fields]) + end + body


def _replace_start(chance: random.Random, call: bytes) -> bytes:
    return chance.choice(STARTS) + call[call.find(b"\r\n") :]


def _chunk_badly(chance: random.Random, call: bytes) -> bytes:
    head, _, body = call.partition(b"\r\n\r\n")
    framed = b"%b\r\n%b\r\n0\r\n\r\n" % (chance.choice(CHUNK_SIZES), body)
    return head + b"\r\nTransfer-Encoding: chunked\r\n\r\n" + framed


def _cut(chance: random.Random, call: bytes) -> bytes:
    return call[: chance.randrange(len(call))]


def _pipeline(chance: random.Random, call: bytes) -> bytes:
    return call + call[chance.randrange(len(call)) :]


def _stretch(chance: random.Random, call: bytes) -> bytes:
    at = chance.randrange(len(call))
    return call[:at] + call[at : at + 20] * chance.choice([10, 500, 5000]) + call[at:]


MUTATIONS: Sequence[Mutation] = (
    _replace_bytes, _insert_separator, _swap_separator, _add_field, _remove_field, _repeat_field,
    _replace_start, _chunk_badly, _cut, _pipeline, _stretch,
)  # fmt: skip


def mutated(calls: Sequence[bytes], seed: int) -> bytes:
    """Returns one of `calls`, mutated one to three times."""
    chance = random.Random(seed)
    call = chance.choice(calls)
    for _ in range(chance.randint(1, 3)):
        if call:
            call = chance.choice(MUTATIONS)(chance, call)
    return call
