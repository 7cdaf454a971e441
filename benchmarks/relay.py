"""Stands before an engine of DynamoDB and counts what it is asked: requests, and units as AWS computes them.

A program: `python -m benchmarks.relay PORT ENGINE_PORT`. A GET is answered with the count since the start.
A unit read is 4 KiB of a strong read, a unit written 1 KiB, in a transaction two of them; both are counted by
the size of the items that are asked for or written.
"""

import asyncio
import base64
import json
import sys
from asyncio import StreamReader, StreamWriter
from math import ceil
from typing import Any

import msgspec
import uvloop
from msgspec import Struct, field

_READ_BYTES, _WRITTEN_BYTES = 4096, 1024
_LARGEST = 2**24


class Tally(Struct):
    """By action and kind of item, and in all."""

    requests: dict[str, int] = field(default_factory=dict)
    read_units: float = 0.0
    written_units: float = 0.0


def note(tally: Tally, action: str, request: dict[str, Any], answer: dict[str, Any]) -> None:
    """Count one request."""
    what = f"{action} {_kind_of(request)}".strip()
    tally.requests[what] = tally.requests.get(what, 0) + 1
    if action in ("GetItem", "Query"):
        items = answer.get("Items", [answer.get("Item", {})])
        units = max(ceil(sum(map(_bytes_of, items)) / _READ_BYTES), 1)
        tally.read_units += units if request.get("ConsistentRead") else units / 2
    elif action in ("PutItem", "UpdateItem", "DeleteItem"):
        tally.written_units += _written(request, answer)
    elif action == "TransactWriteItems":
        writes = [write for each in request["TransactItems"] for write in each.values()]
        tally.written_units += 2 * sum(_written(write, {}) for write in writes)


def _written(request: dict[str, Any], answer: dict[str, Any]) -> int:
    item = request.get("Item") or {**request.get("Key", {}), **answer.get("Attributes", {})}
    return max(ceil(_bytes_of(item) / _WRITTEN_BYTES), 1)


def _bytes_of(item: dict[str, dict[str, str]]) -> int:
    return sum(len(name) + _value_bytes(*next(iter(value.items()))) for name, value in item.items())


def _value_bytes(kind: str, value: str) -> int:
    if kind == "N":
        return len(value) // 2 + 2
    return len(base64.b64decode(value)) if kind == "B" else len(value.encode())


def _kind_of(request: dict[str, Any]) -> str:
    """Of the items: the first letter of the partition key."""
    places = [request.get("Key", {}), request.get("Item", {})]
    partition = next((place["pk"] for place in places if "pk" in place), None)
    partition = partition or request.get("ExpressionAttributeValues", {}).get(":pk", {})
    return str(partition.get("S", ""))[:1]


async def _message(reader: StreamReader) -> tuple[bytes, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    length = head.lower().partition(b"content-length: ")[2].partition(b"\r")[0]
    return head, await reader.readexactly(int(length or 0))


async def _serve(tally: Tally, engine_port: int, reader: StreamReader, writer: StreamWriter) -> None:
    there, here = await asyncio.open_connection("127.0.0.1", engine_port, limit=_LARGEST)
    try:
        while True:
            head, body = await _message(reader)
            if head.startswith(b"GET "):
                told = msgspec.json.encode(tally)
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(told), told))
                continue
            here.write(head + body)
            answer_head, answer = await _message(there)
            writer.write(answer_head + answer)
            action = head.lower().partition(b"x-amz-target: ")[2].partition(b"\r")[0]
            if b" 200 " in answer_head.partition(b"\r")[0]:
                note(tally, _ACTIONS[action.rpartition(b".")[2]], json.loads(body), json.loads(answer))
    except (asyncio.IncompleteReadError, ConnectionError):
        pass  # one of the two has gone
    finally:
        here.close()
        writer.close()


_ACTIONS = {
    name.lower().encode(): name
    for name in (
        "GetItem",
        "PutItem",
        "UpdateItem",
        "DeleteItem",
        "Query",
        "TransactWriteItems",
        "CreateTable",
        "DescribeTable",
        "DescribeTimeToLive",
        "UpdateTimeToLive",
        "DescribeContinuousBackups",
    )
}


async def _run(port: int, engine_port: int) -> None:
    tally = Tally()
    server = await asyncio.start_server(
        lambda reader, writer: _serve(tally, engine_port, reader, writer), "127.0.0.1", port, limit=_LARGEST
    )
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(_run(int(sys.argv[1]), int(sys.argv[2])))
