"""Requests to Redis: key names, the cluster slots they fall into, commands encoded in RESP.

<prefix>:e:<keyspace>:<key>   an entry
<prefix>:w:<bucket>           a window's counter
<prefix>:records              all records, a hash by name
<prefix>:names:{…:records}    the names of all records in order, a sorted set in the slot of the hash
<prefix>:changes:{…}          the names of changed records, a stream in the slot of the hash
<prefix>:ping2                a key that a replica writes to prove that it can
<prefix>:ping                 the same of replicas of version 0.2
<prefix>:layout               the layout of tables without a mark of their own

No two entries, counters or records share a name: a keyspace is percent-encoded, so the first colon after it
ends it.
"""

import re
from binascii import crc_hqx
from collections.abc import Callable
from functools import lru_cache
from urllib.parse import quote

from backends.interface import Keyspace

SLOTS = 16_384

_GLOB = re.compile(rb"[\\*?\[\]]")


class Keys:
    """The key names of one store, which all begin with `prefix`."""

    def __init__(self, prefix: str) -> None:
        self.records = f"{prefix}:records".encode()
        self.names = f"{prefix}:names:{{{prefix}:records}}".encode()
        self.changes = f"{prefix}:changes:{{{prefix}:records}}".encode()
        self.ping = f"{prefix}:ping2".encode()
        self.old_ping = f"{prefix}:ping".encode()
        self.layout = f"{prefix}:layout".encode()
        self.all_entries = escape_glob(f"{prefix}:e:".encode()) + b"*"
        self._window = f"{prefix}:w:".encode()
        self._front_length = len(f"{prefix}:e:".encode())
        self._table = lru_cache(10_000)(lambda keyspace: f"{prefix}:e:{quote(keyspace, safe='')}:".encode())

    def entry(self, keyspace: Keyspace, key: str) -> bytes:
        """Returns the name of an entry."""
        return self._table(keyspace) + key.encode()

    def window(self, bucket: str) -> bytes:
        """Returns the name of a counter."""
        return self._window + bucket.encode()

    def entries_of(self, keyspace: Keyspace) -> bytes:
        """Returns the prefix that the names of all entries of a table share, and no other names have."""
        return self._table(keyspace)

    def table_of(self, name: bytes) -> bytes:
        """Returns the `entries_of` prefix in an entry's name; for other names something that equals none."""
        return name[: name.find(b":", self._front_length) + 1]


def escape_glob(literal: bytes) -> bytes:
    r"""Returns the pattern that matches `literal` alone (`\` makes the next character plain)."""
    return _GLOB.sub(rb"\\\g<0>", literal)


def slot_of(key: bytes) -> int:
    """Returns the slot of a key: of the text in its first braces if that is not empty, else of the whole key.

    https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/
    """
    _, opened, rest = key.partition(b"{")
    tag, closed, _ = rest.partition(b"}")
    return crc_hqx(tag if opened and closed and tag else key, 0) % SLOTS


def pack(*command: str | bytes | int) -> bytes:
    """Encodes any command in RESP."""
    words = [each if isinstance(each, bytes) else str(each).encode() for each in command]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%b\r\n" % (len(word), word) for word in words)


def prepare(*words: str | None) -> Callable[..., bytes]:
    """Returns an encoder for one command of the request path; each None is an argument, of bytes.

    Encoding is the largest part of the CPU that a command costs here. With the fixed words in place a SET
    takes 0.3 µs and a charge 0.2 µs; `pack` takes 1.3 and 1.6 µs, the C packer of hiredis 0.4 and 0.5 µs.
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
