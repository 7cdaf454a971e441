"""Header fields of a call as bytes, looked up by lower-case name."""

from collections.abc import Iterable, KeysView


class Headers:
    """Fields by lower-case name. Values of a repeated field are joined by commas, as signatures want them."""

    __slots__ = ("_repeated", "_values")

    def __init__(self, fields: Iterable[tuple[bytes, bytes]]) -> None:
        values: dict[bytes, bytes] = {}
        repeated: set[bytes] = set()
        for field, value in fields:
            name = field.lower()
            if name in values:
                repeated.add(name)
                values[name] += b"," + value.strip()
            else:
                values[name] = value.strip()
        self._values = values
        self._repeated = repeated

    def get(self, name: bytes) -> bytes | None:
        """The field's value without surrounding white space, or None if it was not sent."""
        return self._values.get(name)

    def select(self, names: Iterable[bytes]) -> list[tuple[bytes, bytes]]:
        """Names with their values, in the order asked for. Every one of them must have been sent."""
        values = self._values
        return [(name, values[name]) for name in names]

    def is_repeated(self, name: bytes) -> bool:
        """Whether the field was sent more than once."""
        return name in self._repeated

    def names(self) -> KeysView[bytes]:
        """The lower-case names of all fields that were sent."""
        return self._values.keys()

    def without(self, *names: bytes) -> "Headers":
        """The same fields, as if the named ones had not been sent."""
        rest = Headers(())
        rest._values = {name: value for name, value in self._values.items() if name not in names}
        rest._repeated = self._repeated.difference(names)
        return rest
