"""The last stage: a call's charge and its operation, in one step of the store."""

from collections.abc import Callable, Sequence

from backends.clock import Clock
from backends.errors import BackendError, ChargeFailed, NotBegun
from backends.tables import (
    ChargedStore,
    Charges,
    EntryOperation,
    EntryResult,
    GetEntry,
    ListEntries,
    OldLayout,
    Refused,
    Revisions,
    always,
)
from gateway.dataplane.large_reads import LargeReads, is_large_batch
from gateway.dataplane.metering import MeteredCall
from gateway.dataplane.policies.rate_limit import RateLimitPolicy
from gateway.dataplane.requests import outcome_of, request_of
from gateway.domain.answers import usage_of
from gateway.domain.errors import (
    NOT_BEGUN,
    Overloaded,
    QuotaUnavailable,
    Refusal,
    StorageLimitReached,
    StorageUnavailable,
    TableNeedsUpgrade,
)
from gateway.domain.model import (
    Batch,
    BatchDone,
    Deleted,
    Found,
    Grant,
    Missing,
    NotDone,
    Outcome,
    ResponseNotes,
    Stored,
    TableOperation,
    TenantLabels,
)

_READS = frozenset({GetEntry, ListEntries})


class Steps:
    """Charges metered calls and executes their operations.

    `limited` counts what a storage limit refuses. Expiry is judged by this replica's clock, which each step
    carries to the store, so all stores agree to the millisecond (D7).
    """

    def __init__(
        self,
        store: ChargedStore,
        rate_limit: RateLimitPolicy,
        clock: Clock,
        limited: Callable[[TenantLabels], None],
    ) -> None:
        self._store = store
        self._rate_limit = rate_limit
        self._wall_ms = clock.wall_ms
        self._limited = limited
        self._next_revision = Revisions().next
        self._large_reads = LargeReads()

    async def charge(self, metered: MeteredCall, notes: ResponseNotes) -> None:
        """Charges a malformed call. Raises RateLimited or QuotaUnavailable."""
        self._rate_limit.refuse_while_closed(metered.grant)
        await self._step(metered.grant, metered.grant.charges, (), self._wall_ms(), notes)

    async def execute(self, metered: MeteredCall, operation: TableOperation, notes: ResponseNotes) -> Outcome:
        """Charges a call and executes its operation.

        Raises RateLimited, QuotaUnavailable, or Overloaded for a write or a large read that was not begun:
        nothing was done.
        Raises StorageUnavailable: a write may have been applied or not. Other refusals are what the store
        decided.
        """
        if isinstance(operation, Batch):
            return await self._execute_batch(metered, operation, notes)
        grant, now_ms = metered.grant, self._wall_ms()
        request = request_of(operation, now_ms, self._next_revision)
        may_begin = always if type(request) in _READS else metered.call.attempt.may_write
        step = self._step_in_turn if type(request) is ListEntries else self._step
        (result,) = await step(grant, grant.charges, (request,), now_ms, notes, may_begin=may_begin)
        outcome = outcome_of(request, result, grant.table.keyspace)
        if isinstance(outcome, Refusal):
            self._note(outcome, grant.labels)
            raise outcome
        return outcome

    async def _execute_batch(self, metered: MeteredCall, batch: Batch, notes: ResponseNotes) -> BatchDone:
        metered.batch = batch
        grant, now_ms = metered.grant, self._wall_ms()
        self._rate_limit.refuse_while_closed(grant)
        requests = [request_of(each, now_ms, self._next_revision) for each in batch.operations]
        charges = Charges(grant.charges.budgets, grant.charges.window_ms, len(requests))
        is_read = _READS.issuperset(map(type, requests))
        may_begin = always if is_read else metered.call.attempt.may_write
        step = self._step_in_turn if is_large_batch(requests) else self._step
        results = await step(grant, charges, requests, now_ms, notes, may_begin=may_begin)
        if isinstance(results[0], OldLayout):  # of the table, hence of each
            raise TableNeedsUpgrade
        outcomes = [
            outcome_of(request, result, grant.table.keyspace)
            for request, result in zip(requests, results, strict=True)
        ]
        metered.done = BatchDone(tuple(self._part(outcome, grant.labels) for outcome in outcomes))
        return metered.done

    def _part(
        self, outcome: Outcome | Refusal, labels: TenantLabels
    ) -> Stored | Found | Missing | Deleted | NotDone:
        if isinstance(outcome, Stored | Found | Missing | Deleted):
            return outcome
        if isinstance(outcome, Refusal):
            self._note(outcome, labels)
            return NotDone(outcome.code, usage_of(outcome))
        raise TypeError(type(outcome).__name__)

    def _note(self, refusal: Refusal, labels: TenantLabels) -> None:
        if isinstance(refusal, StorageLimitReached):
            self._limited(labels)

    async def _step_in_turn(
        self,
        grant: Grant,
        charges: Charges,
        requests: Sequence[EntryOperation],
        now_ms: int,
        notes: ResponseNotes,
        *,
        may_begin: Callable[[], bool] = always,
    ) -> tuple[EntryResult, ...]:
        """Steps in a turn of large reads. Raises Overloaded if there is none."""
        await self._large_reads.begin(grant.table.home)
        try:
            return await self._step(grant, charges, requests, now_ms, notes, may_begin=may_begin)
        finally:
            self._large_reads.end()

    async def _step(
        self,
        grant: Grant,
        charges: Charges,
        requests: Sequence[EntryOperation],
        now_ms: int,
        notes: ResponseNotes,
        *,
        may_begin: Callable[[], bool] = always,
    ) -> tuple[EntryResult, ...]:
        if not may_begin():
            raise Overloaded(NOT_BEGUN)
        limit = self._rate_limit
        asked_at_ms = limit.now_ms()
        try:
            step = await self._store.step(charges, grant.table, requests, now_ms, may_begin=may_begin)
        except ChargeFailed as error:
            raise QuotaUnavailable from error
        except NotBegun as error:
            raise Overloaded(NOT_BEGUN) from error
        except BackendError as error:
            raise StorageUnavailable from error
        if isinstance(step, Refused):
            raise limit.refusal(grant, step, asked_at_ms, charges.amount)
        if limit.exposes_headers:
            notes.rate_limit = limit.status(grant, step.charges)
        return step.results
