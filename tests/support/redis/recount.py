"""Recounts tables in Redis by brute force."""

from itertools import pairwise
from struct import unpack_from

from tests.support.redis.server import RedisServer

FRONT_BYTES = 31


def recount(server: RedisServer, prefix: str = "kvs") -> int:
    """Returns the number of stored entries; fails unless index, expiries, due tables and sizes agree."""
    with server.session() as ask:
        names = [name.decode() for name in ask("KEYS", f"{prefix}:*")]
        homes = {name[name.index("{") : name.index("}") + 1] for name in names if "{" in name}
        entries = 0
        for home in homes:
            due = _scores(ask("ZRANGE", f"{prefix}:d:{home}", 0, -1, "WITHSCORES"))
            sizes = _pairs(ask("HGETALL", f"{prefix}:b:{home}"))
            total = 0
            tables = {name.rpartition("}:")[2] for name in names if f"{home}:" in name and name[4] in "tnx"}
            for table in tables | {each.decode() for each in due}:
                stored = _pairs(ask("HGETALL", f"{prefix}:t:{home}:{table}"))
                expiries = {key: unpack_from(">Q", value, 1)[0] for key, value in stored.items()}
                expiring = {key: float(expiry) for key, expiry in expiries.items() if expiry}
                index = ask("ZRANGE", f"{prefix}:n:{home}:{table}", 0, -1)
                assert index == sorted(stored)
                assert _scores(ask("ZRANGE", f"{prefix}:x:{home}:{table}", 0, -1, "WITHSCORES")) == expiring
                assert not expiring or due[table.encode()] <= min(expiring.values())
                size = sum(len(key) + len(value) - FRONT_BYTES for key, value in stored.items())
                assert int(sizes.get(table.encode(), 0)) == size
                total += size
                entries += len(stored)
            assert int(sizes.get(b"", 0)) == total
        return entries


def _pairs(flat: list[bytes]) -> dict[bytes, bytes]:
    return dict(list(pairwise(flat))[::2])


def _scores(flat: list[bytes]) -> dict[bytes, float]:
    return {member: float(score) for member, score in _pairs(flat).items()}
