"""An endpoint of DynamoDB that answers each action the same at once: what is left is the client's cost."""

import asyncio
import sys
from email.utils import formatdate
from typing import cast
from zlib import crc32

import msgspec
import uvloop

from backends.dynamodb.items import ATTRIBUTES, KEY_SCHEMA, TTL_ATTRIBUTE
from benchmarks.exchange import VALUE

_HEAD_END = b"\r\n\r\n"
_LENGTH = b"content-length: "
_TARGET = b"x-amz-target: dynamodb_20120810."
_CLOSES_AT_MS = str(10**14)  # in a time that no clock reaches, so that the window is open

_ANSWERS = {
    b"getitem": {"Item": {"v": {"B": VALUE}}},
    b"updateitem": {"Attributes": {"n": {"N": "7"}, "c": {"N": _CLOSES_AT_MS}}},
    b"describetable": {
        "Table": {
            "TableStatus": "ACTIVE",
            "KeySchema": KEY_SCHEMA,
            "AttributeDefinitions": ATTRIBUTES,
        }
    },
    b"describetimetolive": {
        "TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED", "AttributeName": TTL_ATTRIBUTE}
    },
}


def _response(answer: object) -> bytes:
    body = msgspec.json.encode(answer)
    head = (
        "HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\n"
        f"Date: {formatdate(usegmt=True)}\r\n"
        f"x-amz-crc32: {crc32(body)}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


_RESPONSES = {target: _response(answer) for target, answer in _ANSWERS.items()}
_NOTHING = _response({})


class _Canned(asyncio.Protocol):
    def __init__(self) -> None:
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's does not inherit from it

    def data_received(self, data: bytes) -> None:
        self._received += data
        head_end = self._received.find(_HEAD_END)
        if head_end < 0:
            return
        head = self._received[:head_end].lower()
        if len(self._received) < head_end + len(_HEAD_END) + int(_after(_LENGTH, head)):
            return
        self._received = b""
        self._transport.write(_RESPONSES.get(_after(_TARGET, head), _NOTHING))


def _after(name: bytes, head: bytes) -> bytes:
    return head.partition(name)[2].partition(b"\r")[0]


async def _serve(port: int) -> None:
    await asyncio.get_running_loop().create_server(_Canned, "127.0.0.1", port, backlog=4096)
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(_serve(int(sys.argv[1])))
