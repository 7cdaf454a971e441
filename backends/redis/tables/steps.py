"""Steps of tables as calls of scripts."""

from collections.abc import Sequence
from functools import lru_cache

from backends.errors import BackendUnavailable
from backends.redis.tables.encoding import arguments_of
from backends.redis.tables.homes import Home
from backends.redis.tables.marks import may_be_old
from backends.redis.tables.replies import Outcome, outcome_of
from backends.redis.tables.scripts import MARKED_SCRIPTS, SCRIPTS
from backends.redis.topology.interface import Topology, prepare_keys
from backends.redis.wire.replies import NOT_REDIS
from backends.tables import Budget, Charges, EntryOperation, GetEntry, PutEntry, Refused, Table

LOOK_EVERY_MS = 1000
"""Pause between two steps of a replica that look for expired entries in the tables of a home."""

_MOST_CACHED = 10_000
_PLAIN, _LOOK, _FINAL = b"0", b"1", b"2"


class _Address:
    """A table and its budgets as steps name them: encoded once."""

    __slots__ = ("for_get", "home", "scripts", "whole")

    def __init__(self, home: Home, table: Table, budgets: tuple[Budget, ...], window_ms: int) -> None:
        windows = [home.window_of(each.bucket) for each in budgets]
        keys = home.keys_of(table.keyspace)
        limits = [b"%d" % window_ms, *(b"%d" % each.limit for each in budgets)]
        max_bytes = -1 if table.max_bytes is None else table.max_bytes
        self.home = home
        self.scripts = MARKED_SCRIPTS if may_be_old(table.keyspace) else SCRIPTS
        self.whole = prepare_keys([*windows, *keys], [*limits, b"%d" % max_bytes, table.keyspace.encode()])
        needs_all = self.scripts.get_needs_all_keys
        self.for_get = self.whole if needs_all else prepare_keys([*windows, keys[0]], limits)


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
        """Charges, and executes the operations if all budgets admit the charge.

        The usual step, a get or a put, has a script of its own, unless this one looks for expired entries.
        """
        budgets = charges.budgets
        address = self._address(table, budgets, charges.window_ms)
        script, keys, mode = address.scripts.any, address.whole, [_PLAIN]
        if address.home.begins_look(now_ms, LOOK_EVERY_MS):
            mode = [_LOOK]
        elif len(operations) == 1:
            kind = type(operations[0])
            if kind is GetEntry:
                script, keys, mode = address.scripts.get, address.for_get, []
            elif kind is PutEntry:
                script, mode = address.scripts.put, []
        arguments = [b"%d" % charges.amount, b"%d" % now_ms, *mode]
        for operation in operations:
            arguments += arguments_of(operation) if mode else arguments_of(operation)[2:]
        return outcome_of(await script.call(self._topology, keys, arguments), budgets, operations)

    async def run(
        self,
        table: Table,
        operations: Sequence[EntryOperation],
        now_ms: int,
        *,
        is_final: bool = False,
        is_settled: bool = False,
    ) -> Outcome:
        """Executes the operations; nobody is charged. `is_final`: the storage limit is judged as it is.

        `is_settled`: the key is in layout 2, whether or not all others are.
        """
        address = self._address(table, (), 1)
        mode = _LOOK if address.home.begins_look(now_ms, LOOK_EVERY_MS) else _PLAIN
        arguments = [b"1", b"%d" % now_ms, _FINAL if is_final else mode]
        for operation in operations:
            arguments += arguments_of(operation)
        scripts = SCRIPTS if is_settled else address.scripts
        reply = await scripts.any.call(self._topology, address.whole, arguments)
        outcome = outcome_of(reply, (), operations)
        if isinstance(outcome, Refused):
            raise BackendUnavailable(NOT_REDIS)
        return outcome
