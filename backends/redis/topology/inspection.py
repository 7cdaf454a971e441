"""Warnings about a Redis server's own settings, read from INFO."""

import logging
from collections.abc import Iterable

from backends.backend import StoreWarning
from backends.errors import BackendError
from backends.redis.topology.server import Server
from backends.redis.wire.commands import pack
from backends.redis.wire.replies import Facts, facts_of

log = logging.getLogger("kvs.redis")

_MEMORY, _REPLICATION = pack("INFO", "memory"), pack("INFO", "replication")

_ADVICE = {
    StoreWarning.EVICTION: "redis may evict counters and entries: set maxmemory-policy to noeviction",
    StoreWarning.ISOLATED_MASTER: (
        "an isolated redis master would keep accepting writes: set min-replicas-to-write to 1"
    ),
}

Warnings = dict[StoreWarning, bool]


def may_evict(memory: Facts) -> bool | None:
    """Returns whether the server may evict keys at maxmemory; None if it does not report its policy.

    Counters carry a time to live, so every policy except noeviction may evict them, and a tenant would then
    exceed its limit. The source is INFO, because managed servers refuse CONFIG GET.
    """
    policy = memory.get(b"maxmemory_policy")
    return None if policy is None else policy != b"noeviction" and memory.get(b"maxmemory") != b"0"


def writes_when_isolated(replication: Facts) -> bool | None:
    """Returns whether this master acknowledges writes that no replica receives; None for other servers.

    INFO has no field for `min-replicas-to-write`. Redis counts its good replicas only where that directive
    and `min-replicas-max-lag` are set, so the presence of the count shows it.
    """
    if replication.get(b"role") != b"master":
        return None
    return b"min_slaves_good_slaves" not in replication


async def inspect(servers: Iterable[Server], *, can_be_isolated: bool) -> Warnings:
    """Maps each warning to whether it holds for any server; omits those that no server reports on."""
    warnings: Warnings = {}
    for server in servers:
        found = [(StoreWarning.EVICTION, may_evict(await _info(server, _MEMORY)))]
        if can_be_isolated:
            isolated = writes_when_isolated(await _info(server, _REPLICATION))
            found.append((StoreWarning.ISOLATED_MASTER, isolated))
        for warning, holds in found:
            if holds is not None:
                warnings[warning] = warnings.get(warning, False) or holds
    return warnings


def log_new(before: Warnings, after: Warnings) -> None:
    """Logs the warnings that hold now and did not hold before."""
    for warning in (each for each, holds in after.items() if holds and not before.get(each)):
        log.warning(_ADVICE[warning], extra={"fields": {"warning": warning}})


async def _info(server: Server, command: bytes) -> Facts:
    try:
        return facts_of(await server.call(command))
    except BackendError:  # this user may lack the right to INFO
        return {}
