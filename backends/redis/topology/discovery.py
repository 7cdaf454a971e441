"""Answers of sentinels about the master, and of cluster nodes about the owners of slots (D137)."""

import asyncio
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any

from msgspec import Struct

from backends.errors import BackendError, BackendMisconfigured, BackendUnavailable
from backends.redis.wire.commands import SLOTS, pack
from backends.redis.wire.connection import Connection
from backends.redis.wire.deadlines import DEADLINE_SECONDS, deadline
from backends.redis.wire.replies import NOT_REDIS, error_of
from backends.redis.wire.resp import ErrorReply, Reply
from backends.redis.wire.url import Address

CLUSTER_SLOTS = pack("CLUSTER", "SLOTS")

Connect = Callable[[Address], Coroutine[Any, Any, Connection]]

View = list[tuple[int, int, Address]]
"""The slot map as one node sees it: ranges of first slot, last slot and master, in order."""


class Share(Struct, frozen=True):
    """A range of slots and the master named by the most views; `is_agreed`: by more than half of them."""

    first: int
    last: int
    master: Address
    is_agreed: bool


def named_master(reply: Reply) -> Address:
    """Returns the master that a sentinel names. Raises BackendError."""
    if reply is None:
        raise BackendMisconfigured("knows no master with this name")
    match reply:
        case [bytes(host), bytes(port)] if host and re.fullmatch(rb"[0-9]{1,5}", port):
            return _address(host, int(port))
    raise BackendUnavailable(NOT_REDIS)


async def find_view(nodes: Iterable[Address], connect: Connect) -> View:
    """Returns the view of the first of `nodes` that has one. Raises BackendError.

    A node that hangs costs one deadline. The error is that of a node that answered, if any did.
    """
    fault: BackendError = BackendUnavailable("no node of the cluster answers")
    for node in nodes:
        try:
            async with deadline(asyncio.get_running_loop().time() + DEADLINE_SECONDS):
                connection = await connect(node)
                try:
                    return view_of(await connection.send(CLUSTER_SLOTS), node.host)
                except ErrorReply as error:
                    raise error_of(error) from None
                finally:
                    connection.end("discovery is over")
        except BackendUnavailable:
            continue
        except BackendError as error:
            fault = error
    raise fault


def view_of(reply: Reply, host: str) -> View:
    """Decodes `[[first, last, [host, port, id], [a replica], ...], ...]`. Raises BackendError.

    A node may leave out its own name; it is then at `host`.
    """
    if not reply:  # the node was reset, or has not met the others yet
        raise BackendMisconfigured("is part of a cluster that serves no slots")
    if not isinstance(reply, list):
        raise BackendUnavailable(NOT_REDIS)
    view = []
    for each in reply:
        match each:
            case [int(first), int(last), [(bytes() | None) as name, int(port), *_], *_] if (
                0 <= first <= last < SLOTS
            ):
                view.append((first, last, _address(name or host.encode(), port)))
            case _:
                raise BackendUnavailable(NOT_REDIS)
    return sorted(view, key=itemgetter(0, 1))


def shares_of(views: Sequence[View]) -> list[Share]:
    """Merges the views into ranges of slots that have a master in at least one view (D137)."""
    starts = sorted({slot for view in views for first, last, _ in view for slot in (first, last + 1)})
    shares = []
    for first, end in pairwise(starts):
        named = Counter(master for view in views for master in _masters_of(first, view))
        for master, votes in named.most_common(1):
            shares.append(Share(first, end - 1, master, 2 * votes > len(views)))
    return shares


def _masters_of(slot: int, view: View) -> Iterator[Address]:
    """Yields the master of a slot in one view, if it has one."""
    at = bisect_right(view, slot, key=itemgetter(0)) - 1
    if at >= 0 and slot <= view[at][1]:
        yield view[at][2]


def _address(host: bytes, port: int) -> Address:
    try:
        name = host.decode()
    except UnicodeDecodeError:
        raise BackendUnavailable(NOT_REDIS) from None
    if not 0 < port < 65536:
        raise BackendUnavailable(NOT_REDIS)
    return Address(name, port)
