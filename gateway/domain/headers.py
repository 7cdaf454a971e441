"""Header fields of a call as bytes, looked up by lower-case name."""

from collections.abc import Collection

_NONE: frozenset[bytes] = frozenset()


class Headers(dict[bytes, bytes]):
    """Values by lower-case name, without surrounding white space.

    Values of a repeated field are joined by commas, the form that signatures cover; `repeated` names such
    fields. `dropped` names fields that were sent but are not accepted from their sender.
    """

    __slots__ = ("repeated",)

    dropped: Collection[bytes] = _NONE

    def __init__(self, fields: Collection[tuple[bytes, bytes]]) -> None:
        for field, value in fields:
            self[field.lower()] = value.strip()
        self.repeated = _NONE
        if len(self) < len(fields):
            self._join(fields)

    def __repr__(self) -> str:
        """Shows names only, because some values are secrets."""
        return f"Headers({sorted(self)})"

    def without(self, *names: bytes) -> "Headers":
        """Returns the fields without `names`, which become `dropped`."""
        rest = _PartOfHeaders([(name, value) for name, value in self.items() if name not in names])
        rest.repeated = self.repeated.difference(names)
        rest.dropped = self.keys() & names
        return rest

    def _join(self, fields: Collection[tuple[bytes, bytes]]) -> None:
        values: dict[bytes, list[bytes]] = {}
        for field, value in fields:
            values.setdefault(field.lower(), []).append(value.strip())
        self.update((name, b",".join(each)) for name, each in values.items())
        self.repeated = frozenset(name for name, each in values.items() if len(each) > 1)


class _PartOfHeaders(Headers):
    """Headers with dropped fields. Most requests drop none and should not pay for the attribute."""

    __slots__ = ("dropped",)
