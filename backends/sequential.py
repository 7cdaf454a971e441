"""Steps in two parts, for counters and entries that no single atomic step can reach."""

from collections.abc import Sequence
from typing import Protocol

from backends.errors import BackendError, ChargeFailed
from backends.interface import Charge
from backends.tables import (
    Budget,
    Charges,
    Done,
    EntryOperation,
    Refused,
    Step,
    Table,
    TableStore,
)


class Counters(Protocol):
    """Window counters whose charges can be taken back."""

    async def charge(self, bucket: str, limit: int, window_ms: int, amount: int = 1) -> Charge:
        """Admits a charge of `amount`, whole or not at all."""
        ...

    async def refund(self, bucket: str, amount: int) -> None:
        """Takes back a charge of the open window, if it is still open."""
        ...


class SequentialSteps:
    """A `ChargedStore`: charges the budgets in order, then executes the operations.

    If a later budget refuses, earlier charges are taken back. In between, another call may be refused that
    would have been admitted; none is admitted beyond a limit.
    """

    def __init__(self, counters: Counters, tables: TableStore) -> None:
        self._counters = counters
        self._tables = tables

    async def step(
        self, charges: Charges, table: Table, operations: Sequence[EntryOperation], now_ms: int
    ) -> Step:
        try:
            charged = await self._charge_all(charges)
        except BackendError as error:
            raise ChargeFailed(str(error)) from error
        if isinstance(charged, Refused):
            return charged
        results = [await self._tables.execute(table, each, now_ms) for each in operations]
        return Done(charged, tuple(results))

    async def _charge_all(self, charges: Charges) -> Refused | tuple[Charge, ...]:
        charged: list[tuple[Budget, Charge]] = []
        for budget in charges.budgets:
            charge = await self._counters.charge(
                budget.bucket, budget.limit, charges.window_ms, charges.amount
            )
            if not charge.admitted:
                for earlier, _ in charged:
                    await self._counters.refund(earlier.bucket, charges.amount)
                return Refused(budget, charge)
            charged.append((budget, charge))
        return tuple(charge for _, charge in charged)
