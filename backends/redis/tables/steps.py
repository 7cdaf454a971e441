"""Steps of tables as calls of scripts."""

from collections.abc import Sequence
from functools import lru_cache

from backends.errors import BackendUnavailable
from backends.redis.tables.encoding import arguments_of
from backends.redis.tables.homes import Home
from backends.redis.tables.marks import may_be_old
from backends.redis.tables.replies import Outcome, outcome_of
from backends.redis.tables.scripts import MARKED_SCRIPTS, SCRIPTS
from backends.redis.topology.interface import ScriptKeys, Topology, prepare_keys
from backends.redis.wire.replies import NOT_REDIS
from backends.tables import Budget, Charges, EntryOperation, Refused, Table

LOOK_EVERY_MS = 1000
"""Pause between two steps of a replica that look for expired entries in the tables of a home.

A look costs Redis as much as a tenth of a step.
"""

_MOST_CACHED = 10_000
_PLAIN, _LOOK, _FINAL = b"0", b"1", b"2"


class _Address:
    """A table and its budgets as a step names them: encoded once."""

    __slots__ = ("home", "keys", "scripts")

    def __init__(self, home: Home, table: Table, budgets: tuple[Budget, ...], window_ms: int) -> None:
        max_bytes = -1 if table.max_bytes is None else table.max_bytes
        keys = [*(home.window_of(each.bucket) for each in budgets), *home.keys_of(table.keyspace)]
        limits = [b"%d" % each.limit for each in budgets]
        constant = [b"%d" % max_bytes, table.keyspace.encode(), b"%d" % window_ms, *limits]
        self.home = home
        self.scripts = MARKED_SCRIPTS if may_be_old(table.keyspace) else SCRIPTS
        self.keys: ScriptKeys = prepare_keys(keys, constant)


class Steps:
    """Runs steps on one Redis."""

    def __init__(self, topology: Topology, prefix: str) -> None:
        self._topology = topology
        self.home = lru_cache(_MOST_CACHED)(lambda name: Home(prefix, name))
        """The key names of a home."""
        self._address = lru_cache(_MOST_CACHED)(
            lambda table, budgets, window_ms: _Address(self.home(table.home), table, budgets, window_ms)
        )

    async def charge_and_run(
        self, charges: Charges, table: Table, operations: Sequence[EntryOperation], now_ms: int
    ) -> Refused | Outcome:
        """Charges, and executes the operations if all budgets admit the charge."""
        address = self._address(table, charges.budgets, charges.window_ms)
        mode = _LOOK if address.home.begins_look(now_ms, LOOK_EVERY_MS) else _PLAIN
        reply = await address.scripts.of(operations).call(
            self._topology, address.keys, _arguments(charges.amount, now_ms, mode, operations)
        )
        return outcome_of(reply, charges.budgets, operations)

    async def run(
        self,
        table: Table,
        operations: Sequence[EntryOperation],
        now_ms: int,
        *,
        is_final: bool = False,
        is_settled: bool = False,
    ) -> Outcome:
        """Executes the operations; nobody is charged. `is_final`: expired entries count, and stop nothing.

        `is_settled`: the key is in layout 2, whether or not all others are.
        """
        address = self._address(table, (), 1)
        mode = _LOOK if address.home.begins_look(now_ms, LOOK_EVERY_MS) else _PLAIN
        if is_final:
            mode = _FINAL
        scripts = SCRIPTS if is_settled else address.scripts
        reply = await scripts.of(operations).call(
            self._topology, address.keys, _arguments(1, now_ms, mode, operations)
        )
        outcome = outcome_of(reply, (), operations)
        if isinstance(outcome, Refused):
            raise BackendUnavailable(NOT_REDIS)
        return outcome


def _arguments(amount: int, now_ms: int, mode: bytes, operations: Sequence[EntryOperation]) -> list[bytes]:
    arguments = [b"%d" % amount, b"%d" % now_ms, mode]
    for operation in operations:
        arguments += arguments_of(operation)
    return arguments
