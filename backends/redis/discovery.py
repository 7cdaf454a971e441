"""Who serves what: asked of sentinels and of the nodes of a cluster, over connections like all others."""

import asyncio
import re
from binascii import crc_hqx
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from functools import partial
from typing import Any, TypeVar

import hiredis

from backends.errors import BackendError, BackendMisconfigured, BackendUnavailable
from backends.redis.connection import DEADLINE_SECONDS, Connection, Reply, deadline
from backends.redis.replies import NOT_REDIS, SLOTS, fault_of
from backends.redis.url import Address

Connect = Callable[[Address], Coroutine[Any, Any, Connection]]

Owners = list[Address | None]
"""The master of each slot of a cluster; None where a slot has none."""

Answer = TypeVar("Answer")


def slot_of(key: bytes) -> int:
    """The slot of a key: of what stands in its first braces, if anything does, else of all of it.

    https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/
    """
    _, opened, rest = key.partition(b"{")
    tag, closed, _ = rest.partition(b"}")
    return crc_hqx(tag if opened and closed and tag else key, 0) % SLOTS


async def find_master(name: str, sentinels: Iterable[Address], connect: Connect) -> Address:
    """Where the master is, by the first of `sentinels` that knows. Raises BackendError."""
    return await _ask(sentinels, connect, partial(_ask_for_master, name), "no sentinel answers")


async def find_owners(nodes: Iterable[Address], connect: Connect) -> Owners:
    """Which master serves each slot, by the first of `nodes` that knows. Raises BackendError."""
    return await _ask(nodes, connect, _ask_for_owners, "no node of the cluster answers")


async def _ask(
    nodes: Iterable[Address],
    connect: Connect,
    ask: Callable[[Connection, Address], Awaitable[Answer]],
    nobody: str,
) -> Answer:
    fault: BackendError = BackendUnavailable(nobody)
    for node in nodes:
        try:
            async with deadline(asyncio.get_running_loop().time() + DEADLINE_SECONDS):
                connection = await connect(node)
                try:
                    return await ask(connection, node)
                finally:
                    connection.end("it has answered")
        except BackendUnavailable:
            continue
        except BackendError as refusal:  # says more than that another did not answer
            fault = refusal
    raise fault


async def _ask_for_master(name: str, connection: Connection, _: Address) -> Address:
    reply = await connection.send("SENTINEL", "GET-MASTER-ADDR-BY-NAME", name)
    if isinstance(reply, hiredis.ReplyError):
        if str(reply).startswith("ERR"):
            raise BackendMisconfigured("the server is not a sentinel: redis:// is for those")
        raise fault_of(reply)
    if reply is None:
        raise BackendMisconfigured("the sentinels know no master of this name")
    match reply:
        case [bytes(host), bytes(port)] if host and re.fullmatch(rb"[0-9]{1,5}", port):
            return _address(host, int(port))
    raise BackendUnavailable(NOT_REDIS)


async def _ask_for_owners(connection: Connection, node: Address) -> Owners:
    reply: Reply = await connection.send("CLUSTER", "SLOTS")
    if isinstance(reply, hiredis.ReplyError):
        raise fault_of(reply)
    if not reply:  # it was reset, or has not been introduced to the others yet
        raise BackendMisconfigured("is part of a cluster that has no slots")
    if not isinstance(reply, list):
        raise BackendUnavailable(NOT_REDIS)
    return _owners(reply, node)


def _owners(ranges: list[Any], asked: Address) -> Owners:
    """From `[[first, last, [host, port, id], [a replica], ...], ...]`; a node may leave out its own host."""
    owners: Owners = [None] * SLOTS
    for each in ranges:
        match each:
            case [int(first), int(last), [(bytes() | None) as host, int(port), *_], *_] if (
                0 <= first <= last < SLOTS
            ):
                owner = _address(host or asked.host.encode(), port)
                owners[first : last + 1] = [owner] * (last + 1 - first)
            case _:
                raise BackendUnavailable(NOT_REDIS)
    return owners


def _address(host: bytes, port: int) -> Address:
    try:
        name = host.decode()
    except UnicodeDecodeError:
        raise BackendUnavailable(NOT_REDIS) from None
    if not 0 < port < 65536:
        raise BackendUnavailable(NOT_REDIS)
    return Address(name, port)
