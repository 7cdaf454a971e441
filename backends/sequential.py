"""Steps in two parts, for counters and entries that no single atomic step can reach."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from backends.errors import BackendError, ChargeFailed, NotBegun
from backends.interface import Charge, WindowCounter
from backends.tables import (
    FAILED,
    Budget,
    Charges,
    Done,
    EntryOperation,
    EntryResult,
    Refused,
    Step,
    Table,
    always,
)


class Executor(Protocol):
    """Executes operations of calls that were charged elsewhere."""

    async def execute(self, table: Table, operation: EntryOperation, now_ms: int) -> EntryResult:
        """Executes one operation."""
        ...


class SequentialSteps:
    """A `ChargedStore`: charges the budgets in order, then executes the operations.

    If a later budget refuses, earlier charges are taken back. In between, another call may be refused that
    would have been admitted; none is admitted beyond a limit.

    With `is_lenient`, operations are executed uncharged while the counters fail.
    """

    def __init__(self, counters: WindowCounter, tables: Executor, *, is_lenient: bool = False) -> None:
        self._counters = counters
        self._tables = tables
        self._is_lenient = is_lenient

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
            charged = await self._charge_all(charges)
        except BackendError as error:
            if not self._is_lenient:
                raise ChargeFailed(str(error)) from error
            charged = ()
        if isinstance(charged, Refused):
            return charged
        return Done(charged, await self._execute_all(table, operations, now_ms, may_begin))

    async def _execute_all(
        self,
        table: Table,
        operations: Sequence[EntryOperation],
        now_ms: int,
        may_begin: Callable[[], bool],
    ) -> tuple[EntryResult, ...]:
        """Executes operations in order, up to the first that fails, or whose caller's attempt has ended."""
        results: list[EntryResult] = []
        try:
            for operation in operations:
                if not may_begin():
                    raise NotBegun("the attempt ended before an operation")
                results.append(await self._tables.execute(table, operation, now_ms))
        except BackendError:
            if not results:
                raise
            results += [FAILED] * (len(operations) - len(results))
        return tuple(results)

    async def _charge_all(self, charges: Charges) -> Refused | tuple[Charge, ...]:
        charged: list[tuple[Budget, Charge]] = []
        for budget in charges.budgets:
            charge = await self._counters.charge(
                budget.bucket, budget.limit, charges.window_ms, charges.amount
            )
            if not charge.admitted:
                for earlier, admitted in charged:
                    with suppress(BackendError):  # the window then counts a charge too many, never too few
                        await self._counters.refund(earlier.bucket, admitted, charges.amount)
                return Refused(budget, charge)
            charged.append((budget, charge))
        return tuple(charge for _, charge in charged)
