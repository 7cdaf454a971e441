"""The key names of layout 2: all keys of one app environment (its home) in one slot.

T is the hash tag {<prefix>:w:<home>}.

<prefix>:w:<home>             the home's window
<prefix>:w:T:<bucket>         another window
<prefix>:t:T:<table>          entries, a hash
<prefix>:n:T:<table>          their keys in order, a sorted set
<prefix>:x:T:<table>          their expiries, a sorted set
<prefix>:d:T                  the tables in which something expires, a sorted set
<prefix>:b:T                  bytes of each table, and of all, a hash; and marks (`layouts`)
<prefix>:m:T:<table>          keys settled while a table of version 0.2 is moved, a hash
"""

from backends.interface import Keyspace

TableKeys = tuple[bytes, bytes, bytes, bytes, bytes]
"""The names of entries, index, expiries, due tables and sizes."""


class Home:
    """The key names of one app environment, and of its tables.

    The content of the hash tag is the name that version 0.2 gave to the window of the app environment. So the
    window keeps its name and lies in the slot of all other keys, and the limit stays exact while both
    versions run.
    """

    def __init__(self, prefix: str, name: str) -> None:
        self.name = name
        self.window = f"{prefix}:w:{name}".encode()
        self._prefix = prefix.encode()
        self._tag = b"{%b}" % self.window
        self.due = self._named(b"d")
        self.sizes = self._named(b"b")
        self._looked_at_ms = 0

    def begins_look(self, now_ms: int, every_ms: int) -> bool:
        """Returns whether this step should look for expired entries: once in `every_ms`."""
        if 0 <= now_ms - self._looked_at_ms < every_ms:
            return False
        self._looked_at_ms = now_ms
        return True

    def window_of(self, bucket: str) -> bytes:
        """Returns the name of the window of a budget."""
        return self.window if bucket == self.name else self._named(b"w", bucket)

    def keys_of(self, table: Keyspace) -> TableKeys:
        """Returns the names of the keys of a table."""
        return (
            self._named(b"t", table),
            self._named(b"n", table),
            self._named(b"x", table),
            self.due,
            self.sizes,
        )

    def settled_of(self, table: Keyspace) -> bytes:
        """Returns the name of the settled keys of a table that is being moved."""
        return self._named(b"m", table)

    def _named(self, kind: bytes, name: str | None = None) -> bytes:
        of_home = b"%b:%b:%b" % (self._prefix, kind, self._tag)
        return of_home if name is None else b"%b:%b" % (of_home, name.encode())
