"""Who serves what: sentinels are asked through redis-py, nodes of a cluster as they are asked all else."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

import hiredis
from redis.asyncio import Sentinel
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from backends.errors import BackendError, BackendMisconfigured, BackendUnavailable
from backends.redis.connection import DEADLINE_SECONDS, Connection, deadline
from backends.redis.replies import fault_of
from backends.redis.url import Address, RedisUrl

SLOTS = 16_384

Connect = Callable[[Address], Coroutine[Any, Any, Connection]]

Owners = list[Address | None]
"""The master of each slot of a cluster; None where a slot has none."""


class Sentinels:
    """The sentinels of one master."""

    def __init__(self, url: RedisUrl, ca_file: str | None) -> None:
        self._master = url.master
        self._sentinel = Sentinel(  # type: ignore[no-untyped-call]
            [(address.host, address.port) for address in url.addresses],
            sentinel_kwargs=_options(url, ca_file),
        )

    async def master(self) -> Address:
        """Where the master is now. Raises BackendUnavailable."""
        try:
            host, port = await self._sentinel.discover_master(self._master)
        except (RedisError, OSError):
            raise BackendUnavailable("no sentinel answers that knows where its master is") from None
        finally:
            _heed_cancellation()
        return Address(host, port)

    async def close(self) -> None:
        """Give the connections back."""
        await self._sentinel.aclose()


def _heed_cancellation() -> None:
    """Before Python 3.12, `asyncio.wait_for`, which redis-py waits with, may lose a cancellation."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


async def find_owners(nodes: Iterable[Address], connect: Connect) -> Owners:
    """Which master serves each slot, by the first of `nodes` that knows. Raises BackendError."""
    fault: BackendError = BackendUnavailable("no node of the cluster answers")
    for node in nodes:
        try:
            async with deadline(asyncio.get_running_loop().time() + DEADLINE_SECONDS):
                return await _ask(node, connect)
        except BackendUnavailable:
            continue
        except BackendError as refusal:  # says more than that another did not answer
            fault = refusal
    raise fault


async def _ask(node: Address, connect: Connect) -> Owners:
    connection = await connect(node)
    try:
        reply = await connection.send("CLUSTER", "SLOTS")
    finally:
        connection.end("it has answered")
    if isinstance(reply, hiredis.ReplyError):
        raise fault_of(reply, node.host)
    if not reply:  # it was reset, or has not been introduced to the others yet
        raise BackendMisconfigured("is part of a cluster that has no slots")
    return _owners(reply, node)


def _owners(ranges: list[list[Any]], asked: Address) -> Owners:
    """From `[[first, last, [host, port, id], [a replica], ...], ...]`; a node may leave out its own host."""
    owners: Owners = [None] * SLOTS
    for first, last, (host, port, *_), *_ in ranges:
        owner = Address(host.decode() if host else asked.host, port)
        owners[first : last + 1] = [owner] * (last + 1 - first)
    return owners


def _options(url: RedisUrl, ca_file: str | None) -> dict[str, Any]:
    """As impatient as every other call, and as strict about certificates."""
    options: dict[str, Any] = {
        "socket_timeout": DEADLINE_SECONDS,
        "socket_connect_timeout": DEADLINE_SECONDS,
        "retry": Retry(NoBackoff(), 0),
        "protocol": 2,
        "driver_info": None,
    }
    if url.is_tls:
        options |= {"ssl": True, "ssl_ca_certs": ca_file}
    return options
