"""What is sent to Redis: names, the slots they fall into, and commands in RESP.

<prefix>:e:<keyspace>:<key>   an entry
<prefix>:w:<bucket>           a window's counter
<prefix>:records              all records, a hash by name
<prefix>:names:{…:records}    their names in order, a sorted set in the same slot
<prefix>:changes:{…}          the names of changed records, a stream in the slot of the hash
<prefix>:ping                 what a replica writes to see that it can

No two entries, counters or records ever share a name: a keyspace is percent-encoded, so that the first
colon behind it ends it (D88).
"""

import re
from binascii import crc_hqx
from collections.abc import Callable
from functools import lru_cache
from urllib.parse import quote

import hiredis

from backends.interface import Keyspace

SLOTS = 16_384

_GLOB = re.compile(rb"[\\*?\[\]]")


class Keys:
    """The names of one store, which all begin with `prefix`."""

    def __init__(self, prefix: str) -> None:
        self.records = f"{prefix}:records".encode()
        self.names = f"{prefix}:names:{{{prefix}:records}}".encode()
        self.changes = f"{prefix}:changes:{{{prefix}:records}}".encode()
        self.ping = f"{prefix}:ping".encode()
        self._window = f"{prefix}:w:".encode()
        self._front_length = len(f"{prefix}:e:".encode())
        self._table = lru_cache(10_000)(lambda keyspace: f"{prefix}:e:{quote(keyspace, safe='')}:".encode())

    def entry(self, keyspace: Keyspace, key: str) -> bytes:
        """The name of an entry."""
        return self._table(keyspace) + key.encode()

    def window(self, bucket: str) -> bytes:
        """The name of a counter."""
        return self._window + bucket.encode()

    def entries_of(self, keyspace: Keyspace) -> bytes:
        """What the names of all entries of a table begin with, and no others."""
        return self._table(keyspace)

    def table_of(self, name: bytes) -> bytes:
        """Of an entry's name what `entries_of` gives for its table; nothing like it for other names."""
        return name[: name.find(b":", self._front_length) + 1]


def escape_glob(literal: bytes) -> bytes:
    r"""`literal` as a pattern that matches it alone (`\` makes the next character plain)."""
    return _GLOB.sub(rb"\\\g<0>", literal)


def slot_of(key: bytes) -> int:
    """The slot of a key: of what stands in its first braces, if anything does, else of all of it.

    https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/
    """
    _, opened, rest = key.partition(b"{")
    tag, closed, _ = rest.partition(b"}")
    return crc_hqx(tag if opened and closed and tag else key, 0) % SLOTS


def pack(*command: str | bytes | int) -> bytes:
    """Any command in RESP."""
    packed: bytes = hiredis.pack_command(command)  # type: ignore[arg-type]  # its stub means one argument
    return packed


def prepare(*words: str | None) -> Callable[..., bytes]:
    """Packs one command of the request path; each None is an argument, of bytes.

    Packing is the largest part of what a command costs here. With the fixed words in place it takes 0.4 µs
    less than `pack` for a SET and 0.6 µs less for an EVALSHA, of 1.8 and 2.1 µs from the call to the reply.
    """
    form = b"*%d\r\n" % len(words)
    for word in words:
        fixed = b"" if word is None else pack(word).removeprefix(b"*1\r\n").replace(b"%", b"%%")
        form += fixed or b"$%d\r\n%b\r\n"
    match words.count(None):
        case 1:
            return lambda a: form % (len(a), a)
        case 2:
            return lambda a, b: form % (len(a), a, len(b), b)
        case 3:
            return lambda a, b, c: form % (len(a), a, len(b), b, len(c), c)
        case 4:
            return lambda a, b, c, d: form % (len(a), a, len(b), b, len(c), c, len(d), d)
        case _:
            return lambda *each: form % tuple(part for a in each for part in (len(a), a))
