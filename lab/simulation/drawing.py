"""The calls that a client of a simulated region makes, drawn by chance."""

import random
from collections.abc import Callable, Sequence

from lab.simulation.requests import ABSENT, COUNTERS, TABLES, Request, Table
from lab.simulation.witness import Witness

KEYS = ("a", "b", "c")


class Draw:
    """Draws calls. Conditions name tags that some client has seen, the latest or older ones."""

    def __init__(
        self,
        dice: random.Random,
        witness: Witness,
        next_number: Callable[[], int],
        tables: Sequence[Table] = TABLES,
        keys: Sequence[str] = KEYS,
    ) -> None:
        self._dice, self._witness, self._next_number = dice, witness, next_number
        self._tables, self._keys = tables, keys

    def requests(self) -> list[Request]:
        """Returns calls to send at once."""
        return [self._request() for _ in range(self._dice.choices((1, 2, 4), (12, 2, 1))[0])]

    def _request(self) -> Request:
        return self.request(self._dice.choices((None, "body", "token", "secret"), (40, 1, 1, 1))[0])

    def request(self, flaw: str | None = None) -> Request:
        table = self._dice.choice(self._tables)
        kind = self._dice.choices(("entry", "count", "batch"), (12, 4, 1))[0]
        if kind == "count":
            return Request(
                "increment", table, self._dice.choice(COUNTERS), by=self._dice.randint(1, 3), flaw=flaw
            )
        if kind == "batch":
            parts = tuple(self._entry(table, None) for _ in range(self._dice.randint(1, 5)))
            return Request("batch", table, parts=parts, flaw=flaw)
        return self._entry(table, flaw)

    def _entry(self, table: Table, flaw: str | None) -> Request:
        operation = self._dice.choices(("put", "get", "delete"), (6, 6, 2))[0]
        if operation == "get":
            return Request("get", table, self._dice.choice((*self._keys, *COUNTERS)), flaw=flaw)
        key = self._dice.choice(self._keys)
        number = self._next_number() if operation == "put" else None
        return Request(operation, table, key, number, flaw, self._condition(operation, table, key))

    def _condition(self, operation: str, table: Table, key: str) -> str | None:
        kind = self._dice.choices(("none", "tag", "any", "absent"), (4, 4, 1, 1))[0]
        tags = self._witness.tags_of(table, key)
        if kind == "tag" and tags:
            return tags[-1] if self._dice.random() < 0.7 else self._dice.choice(tags)
        if kind == "absent" and operation == "put":
            return ABSENT
        return "*" if kind == "any" else None
