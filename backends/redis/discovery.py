"""Which server is the master (D98), which nodes own the slots (D97): asked of sentinels and cluster nodes."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from functools import partial
from typing import Any, TypeVar

import hiredis

from backends.errors import BackendError, BackendMisconfigured, BackendUnavailable
from backends.redis.commands import SLOTS, pack
from backends.redis.connection import Connection, Reply
from backends.redis.deadlines import DEADLINE_SECONDS, deadline
from backends.redis.replies import NOT_REDIS, error_of
from backends.redis.url import Address

Connect = Callable[[Address], Coroutine[Any, Any, Connection]]

Owners = list[Address | None]
"""The master of each slot of a cluster; None where a slot has none."""

Found = TypeVar("Found")


async def find_master(name: str, sentinels: Iterable[Address], connect: Connect) -> Address:
    """Where the master is, by the first of `sentinels` that knows. Raises BackendError."""
    return await _ask_each(sentinels, connect, partial(_master, name), "no sentinel answers")


async def find_owners(nodes: Iterable[Address], connect: Connect) -> Owners:
    """Which master serves each slot, by the first of `nodes` that knows. Raises BackendError."""
    return await _ask_each(nodes, connect, _owners, "no node of the cluster answers")


async def _ask_each(
    nodes: Iterable[Address],
    connect: Connect,
    ask: Callable[[Connection, Address], Awaitable[Found]],
    no_answer: str,
) -> Found:
    """The first answer. A node that hangs costs one deadline; the reason is that of a node that answered."""
    fault: BackendError = BackendUnavailable(no_answer)
    for node in nodes:
        try:
            async with deadline(asyncio.get_running_loop().time() + DEADLINE_SECONDS):
                connection = await connect(node)
                try:
                    return await ask(connection, node)
                finally:
                    connection.end("discovery is over")
        except BackendUnavailable:
            continue
        except BackendError as error:
            fault = error
    raise fault


async def _master(name: str, connection: Connection, _sentinel: Address) -> Address:
    try:
        reply = await connection.send(pack("SENTINEL", "GET-MASTER-ADDR-BY-NAME", name))
    except hiredis.ReplyError as error:
        if str(error).startswith("ERR"):
            raise BackendMisconfigured("the server is not a sentinel: redis:// is for those") from None
        raise error_of(error) from None
    if reply is None:
        raise BackendMisconfigured("the sentinels know no master of this name")
    match reply:
        case [bytes(host), bytes(port)] if host and re.fullmatch(rb"[0-9]{1,5}", port):
            return _address(host, int(port))
    raise BackendUnavailable(NOT_REDIS)


async def _owners(connection: Connection, node: Address) -> Owners:
    try:
        reply: Reply = await connection.send(pack("CLUSTER", "SLOTS"))
    except hiredis.ReplyError as error:
        raise error_of(error) from None
    if not reply:  # it was reset, or has not been introduced to the others yet
        raise BackendMisconfigured("is part of a cluster that has no slots")
    if not isinstance(reply, list):
        raise BackendUnavailable(NOT_REDIS)
    return _by_slot(reply, node)


def _by_slot(ranges: list[Any], asked: Address) -> Owners:
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
