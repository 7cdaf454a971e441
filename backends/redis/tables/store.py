"""Tables in Redis: one script and one round trip for a step."""

import asyncio
from collections.abc import Callable, Sequence

from backends.errors import BackendError, BackendUnavailable, ChargeFailed, NotBegun
from backends.interface import Keyspace
from backends.redis.tables.homes import Home
from backends.redis.tables.replies import Outcome
from backends.redis.tables.scripts import COUNT, DROP
from backends.redis.tables.steps import Steps
from backends.redis.tables.sweeping import SWEPT_AT_ONCE, Sweeper, sweep
from backends.redis.topology.interface import ScriptKeys, Topology, prepare_keys
from backends.redis.wire.deadlines import DEADLINE_SECONDS
from backends.redis.wire.replies import NOT_REDIS, check_done
from backends.tables import (
    FAILED,
    Charges,
    Done,
    EntryOperation,
    EntryResult,
    Refused,
    Step,
    Table,
    TableCount,
    always,
)

_REST_SECONDS = 0.002
"""Pause between two scripts that remove expired entries while nobody waits for it."""


class RedisTables:
    """A `ChargedStore` and `TableStore`."""

    def __init__(self, topology: Topology, prefix: str) -> None:
        self._topology = topology
        self._steps = Steps(topology, prefix)
        self._sweeper = Sweeper(topology)

    async def step(
        self,
        charges: Charges,
        table: Table,
        operations: Sequence[EntryOperation],
        now_ms: int,
        *,
        may_begin: Callable[[], bool] = always,
    ) -> Step:
        try:
            outcome = await self._steps.charge_and_run(charges, table, operations, now_ms)
        except BackendError as error:
            if error.did_nothing:
                raise ChargeFailed(str(error)) from error
            raise
        if isinstance(outcome, Refused):
            return outcome
        results = await self._all_results(table, operations, outcome, now_ms, may_begin)
        return Done(outcome.charges, results)

    async def execute(self, table: Table, operation: EntryOperation, now_ms: int) -> EntryResult:
        outcome = await self._steps.run(table, [operation], now_ms)
        (result,) = await self._all_results(table, [operation], outcome, now_ms, always)
        return result

    async def execute_settled(self, table: Table, operation: EntryOperation, now_ms: int) -> EntryResult:
        """Executes an operation on a key that is in layout 2, although others of its table may not be.

        Layout 1 has no storage limit, so none applies yet.
        """
        unlimited = Table(table.home, table.keyspace)
        outcome = await self._steps.run(unlimited, [operation], now_ms, is_settled=True)
        return outcome.results[0]

    def home(self, name: str) -> Home:
        """Returns the key names of a home."""
        return self._steps.home(name)

    async def count(self, table: Table, now_ms: int) -> TableCount:
        """Counts live entries; bytes are exact if all that expired can be removed before the deadline."""
        ends = _deadline()
        while await self._sweep(table, now_ms) and _now() < ends:
            pass
        match await COUNT.call(
            self._topology, self._keys_of(table), (table.keyspace.encode(), b"%d" % now_ms)
        ):
            case [int(entries), int(size), int(expired)]:
                return TableCount(entries, size, now_ms, is_exact=expired == 0)
        raise BackendUnavailable(NOT_REDIS)

    async def drop(self, tables: Sequence[Table]) -> None:
        """Removes each table in one step, which takes Redis some microseconds whatever the table holds."""
        for table in tables:
            check_done(await DROP.call(self._topology, self._keys_of(table), (table.keyspace.encode(),)))

    async def tidy(self, tables: Sequence[Table], now_ms: int) -> None:
        for table in tables:
            has_more = True
            while has_more:
                has_more = await self._sweep(table, now_ms)
                await asyncio.sleep(_REST_SECONDS)

    async def close(self) -> None:
        """Ends the removal of expired entries in the background; may be repeated."""
        await self._sweeper.close()

    async def _all_results(
        self,
        table: Table,
        operations: Sequence[EntryOperation],
        outcome: Outcome,
        now_ms: int,
        may_begin: Callable[[], bool],
    ) -> tuple[EntryResult, ...]:
        """Returns the results of all operations. A step that stopped at the storage limit is continued.

        Expired entries count towards the limit until they are removed, so some are removed before each
        attempt. After a deadline the limit is judged as it is.
        """
        results, ends = outcome.results, 0.0
        try:
            while len(results) < len(operations):
                ends = ends or _deadline()
                for each in outcome.due:
                    if await self._sweep(_table_in(table.home, each), now_ms):
                        self._sweep_later(table.home, each, now_ms)
                if not may_begin():
                    raise NotBegun("the attempt ended while room was made")
                rest = operations[len(results) :]
                outcome = await self._steps.run(table, rest, now_ms, is_final=_now() >= ends)
                results += outcome.results
        except BackendError:
            if not results:
                raise
            results += [FAILED] * (len(operations) - len(results))
        for each in outcome.due:
            self._sweep_later(table.home, each, now_ms)
        return tuple(results)

    def _sweep_later(self, home: str, name: bytes, now_ms: int) -> None:
        self._sweeper.add(self.home(home), _table_in(home, name).keyspace, now_ms)

    async def _sweep(self, table: Table, now_ms: int) -> bool:
        """Removes some expired entries; returns whether there may be more."""
        home = self.home(table.home)
        return await sweep(self._topology, home, table.keyspace, now_ms, SWEPT_AT_ONCE)

    def _keys_of(self, table: Table) -> ScriptKeys:
        return prepare_keys(self.home(table.home).keys_of(table.keyspace))


def _table_in(home: str, name: bytes) -> Table:
    return Table(home, Keyspace(name.decode()))


def _now() -> float:
    return asyncio.get_running_loop().time()


def _deadline() -> float:
    return _now() + DEADLINE_SECONDS
