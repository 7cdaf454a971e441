"""Header fields of a call as bytes, looked up by lower-case name."""

from collections.abc import Iterable


class Headers(dict[bytes, bytes]):
    """Values by lower-case name, without surrounding white space.

    Values of a repeated field are joined by commas, as signatures want them; `repeated` names such fields.
    """

    __slots__ = ("repeated",)

    def __init__(self, fields: Iterable[tuple[bytes, bytes]]) -> None:
        super().__init__()
        self.repeated: frozenset[bytes] = frozenset()
        for field, value in fields:
            name = field.lower()
            if name in self:
                self.repeated |= {name}
                self[name] += b"," + value.strip()
            else:
                self[name] = value.strip()

    def __repr__(self) -> str:
        """Without the values: some of them are secrets."""
        return f"Headers({sorted(self)})"

    def without(self, *names: bytes) -> "Headers":
        """The same fields, as if the named ones had not been sent."""
        rest = Headers((name, value) for name, value in self.items() if name not in names)
        rest.repeated = self.repeated.difference(names)
        return rest
