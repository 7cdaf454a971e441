"""Pages of a list: their cursors, and their size.

A cursor is the last key of a page, with a check over keyspace, prefix and key. It needs no secret, so every
replica accepts it: the check refuses cursors of other lists, and a forged one can only begin elsewhere in its
own table.
"""

from base64 import b64decode, urlsafe_b64encode
from hashlib import blake2b

import msgspec

from backends.interface import Keyspace
from backends.tables import Page, StoredEntry
from gateway.domain.errors import InvalidCursor
from gateway.domain.model import Listed
from gateway.domain.rules import PAGE_BYTES

_VERSION = b"\x01"
_CHECK_BYTES = 8
_FRONT_BYTES = len(_VERSION) + _CHECK_BYTES
_EMPTY_PAGE_BYTES = 1024
"""Bytes of a page without entries, with the longest cursor, or more."""

_ENTRY_BYTES = len('{"key":,"value":,"expiresAt":"9999-12-31T23:59:59.999Z"},')


def write_cursor(keyspace: Keyspace, prefix: str, after: str) -> str:
    """Returns the cursor of the page that begins behind the key `after`."""
    listing = f"{len(keyspace)} {len(prefix)} {keyspace}{prefix}{after}".encode()
    check = blake2b(listing, digest_size=_CHECK_BYTES, person=b"kvs list cursor").digest()
    return urlsafe_b64encode(_VERSION + check + after.encode()).decode().rstrip("=")


def read_cursor(keyspace: Keyspace, prefix: str, cursor: str) -> str:
    """Returns the key behind which the page begins. Raises InvalidCursor."""
    try:
        decoded = b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True)
        after = decoded[_FRONT_BYTES:].decode()
    except ValueError:
        raise InvalidCursor from None
    if not after or write_cursor(keyspace, prefix, after) != cursor:
        raise InvalidCursor
    return after


def listed(keyspace: Keyspace, prefix: str, page: Page, *, has_values: bool) -> Listed:
    """Returns a page of the store as the outcome of a list.

    The store counts keys as they are. In JSON a key may be six times as long: then the page ends sooner.
    """
    entries, after, size = page.entries, page.after, _EMPTY_PAGE_BYTES
    for count, (key, entry) in enumerate(entries, 1):
        size += _size(key, entry)
        if size >= PAGE_BYTES and count < len(entries):
            entries, after = entries[:count], key
            break
    cursor = None if after is None else write_cursor(keyspace, prefix, after)
    return Listed(entries, cursor, has_values)


def _size(key: str, entry: StoredEntry) -> int:
    """Returns the most bytes that an entry takes in a page."""
    return len(msgspec.json.encode(key)) + len(entry.value) + _ENTRY_BYTES
