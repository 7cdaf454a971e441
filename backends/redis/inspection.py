"""What the settings of a Redis server endanger (D142)."""

import logging
from collections.abc import Iterable

from backends.errors import BackendError
from backends.interface import StoreWarning
from backends.redis.topology.server import Server
from backends.redis.wire.commands import pack
from backends.redis.wire.replies import Facts, facts_of

log = logging.getLogger("kvs.redis")

_MEMORY, _REPLICATION = pack("INFO", "memory"), pack("INFO", "replication")

_ADVICE = {
    StoreWarning.EVICTION: "redis may evict counters and entries: maxmemory-policy should be noeviction",
    StoreWarning.ISOLATED_MASTER: "redis writes on when it is cut off: min-replicas-to-write should be 1",
}

Warnings = dict[StoreWarning, bool]


def may_evict(memory: Facts) -> bool | None:
    """Counters carry a time to live, so every policy but one may drop them and admit more than the limit.

    None: the server does not say. INFO is asked, because managed servers refuse CONFIG GET.
    """
    policy = memory.get(b"maxmemory_policy")
    return None if policy is None else policy != b"noeviction" and memory.get(b"maxmemory") != b"0"


def writes_when_isolated(replication: Facts) -> bool | None:
    """Whether a master goes on acknowledging writes that no replica receives.

    Redis counts good replicas only where `min-replicas-to-write` and `min-replicas-max-lag` are set.
    """
    if replication.get(b"role") != b"master":
        return None
    return b"min_slaves_good_slaves" not in replication


async def inspect(servers: Iterable[Server], *, can_be_isolated: bool) -> Warnings:
    """What holds of any of the servers; nothing of what they do not say."""
    warnings: Warnings = {}
    for server in servers:
        found = [(StoreWarning.EVICTION, may_evict(await _ask(server, _MEMORY)))]
        if can_be_isolated:
            isolated = writes_when_isolated(await _ask(server, _REPLICATION))
            found.append((StoreWarning.ISOLATED_MASTER, isolated))
        for warning, holds in found:
            if holds is not None:
                warnings[warning] = warnings.get(warning, False) or holds
    return warnings


def report(before: Warnings, after: Warnings) -> None:
    """Log what has begun to hold."""
    for warning in (each for each, holds in after.items() if holds and not before.get(each)):
        log.warning(_ADVICE[warning], extra={"fields": {"warning": warning}})


async def _ask(server: Server, question: bytes) -> Facts:
    try:
        return facts_of(await server.call(question))
    except BackendError:  # this user may not ask
        return {}
