"""Names in Redis. No two entries, counters or records ever share one.

<prefix>:e:<keyspace>:<key>   an entry
<prefix>:w:<bucket>           a window's counter
<prefix>:records              all records, a hash by name
<prefix>:ping                 what a replica writes to see that it can

A keyspace is percent-encoded, so that the first colon behind it ends it.
"""

import re
from functools import lru_cache
from urllib.parse import quote

from backends.interface import Keyspace

_GLOB = re.compile(rb"[\\*?\[\]]")


class Keys:
    """The names of one store, which all begin with `prefix`."""

    def __init__(self, prefix: str) -> None:
        self.records = f"{prefix}:records".encode()
        self.ping = f"{prefix}:ping".encode()
        self._window = f"{prefix}:w:".encode()
        self._table = lru_cache(10_000)(lambda keyspace: f"{prefix}:e:{quote(keyspace, safe='')}:".encode())

    def entry(self, keyspace: Keyspace, key: str) -> bytes:
        """The name of an entry."""
        return self._table(keyspace) + key.encode()

    def window(self, bucket: str) -> bytes:
        """The name of a counter."""
        return self._window + bucket.encode()

    def entries_pattern(self, keyspace: Keyspace) -> bytes:
        """What SCAN takes to find the entries of a table and no others."""
        return escape_glob(self._table(keyspace)) + b"*"


def escape_glob(literal: bytes) -> bytes:
    r"""`literal` as a pattern that matches it alone (`\` makes the next character plain)."""
    return _GLOB.sub(rb"\\\g<0>", literal)
