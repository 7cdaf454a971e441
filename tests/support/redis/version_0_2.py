"""Version 0.2 in Redis, command by command: entries, windows and pings of its replicas."""

import struct

from tests.support.redis.resp import ErrorReply
from tests.support.redis.server import RedisServer

_FRONT = struct.Struct(">BQ")


class OldReplica:
    """A replica of version 0.2. `servers` are all masters: each command goes to the one that owns its key."""

    def __init__(self, *servers: RedisServer, prefix: str = "kvs") -> None:
        self._servers = servers
        self._prefix = prefix.encode()

    def put(self, keyspace: str, key: str, value: bytes, *, expires_at_ms: int | None, now_ms: int) -> None:
        stored = _FRONT.pack(1, expires_at_ms or 0) + value
        ttl = () if expires_at_ms is None else ("PX", expires_at_ms - now_ms)
        assert self._command(self._entry(keyspace, key), "SET", stored, *ttl) == b"OK"

    def fill(self, keyspace: str, entries: dict[str, bytes]) -> None:
        """Puts entries without expiry; on one server only."""
        words = [
            word
            for key, value in entries.items()
            for word in (self._entry(keyspace, key), _FRONT.pack(1, 0) + value)
        ]
        assert self._servers[0].command("MSET", *words) == b"OK"

    def empty_store(self) -> None:
        for server in self._servers:
            server.command("FLUSHALL")

    def get(self, keyspace: str, key: str) -> tuple[bytes, int | None] | None:
        stored = self._command(self._entry(keyspace, key), "GET")
        if stored is None:
            return None
        version, expires_at_ms = _FRONT.unpack_from(stored)
        assert version == 1
        return stored[_FRONT.size :], expires_at_ms or None

    def charges(self, bucket: str) -> int:
        return int(self._command(b"%b:w:%b" % (self._prefix, bucket.encode()), "GET") or 0)

    def ping(self) -> None:
        """Pings; a replica does so every second."""
        self._command(self._prefix + b":ping", "SET", "", "PX", 5000)

    def end(self) -> None:
        """Ends the replica; its last ping is forgotten after 5 s."""
        self._command(self._prefix + b":ping", "UNLINK")

    def _entry(self, keyspace: str, key: str) -> bytes:
        return b"%b:e:%b:%b" % (self._prefix, keyspace.encode(), key.encode())

    def _command(self, name: bytes, command: str, *words: str | bytes | int):
        for server in self._servers:
            try:
                return server.command(command, name, *words)
            except ErrorReply as error:
                if not str(error).startswith("MOVED"):
                    raise
        raise AssertionError("no server owns the key")
