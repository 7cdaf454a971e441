"""The judges of a simulated directory: each compares answers with the truth in the store."""

from collections.abc import Iterator, Sequence

from gateway.domain.model import Environment
from lab.simulation.answers import LOOKUP_SECONDS, RETRY_SECONDS, Answered
from lab.simulation.ledger import Ledger, Status
from lab.simulation.operators import DONE, LIST_LIMIT, REFUSED, RequestedChange
from lab.simulation.records import StoreRecords
from lab.simulation.tenants import (
    Issued,
    is_declared_active,
)
from tests.support.wire import WireReply


def judge_token(
    ledger: Ledger, call: Answered, is_declared: set[bool], from_old_masters: set[Status]
) -> str | None:
    """Returns the fault of an answer to a token, if any. `is_declared`: its app, on that replica.

    `from_old_masters`: its statuses by replaced masters.
    """
    if call.token.is_declared:
        in_file = Status.ACTIVE if is_declared_active(call.token.environment) else Status.INACTIVE
        possible = {in_file if each else Status.VOID for each in is_declared}
    else:
        possible = ledger.statuses(call.token, call.earliest, call.answered) | from_old_masters
        if is_declared == {True}:
            possible &= {Status.UNREADABLE}
        if True in is_declared:
            possible.add(Status.VOID)
        possible |= ledger.statuses(call.token, call.sent - RETRY_SECONDS, call.sent) & {Status.UNREADABLE}
    if call.was_looked_up_in_vain(call.sent - LOOKUP_SECONDS):
        possible.add(Status.UNREADABLE)
    if call.status in possible or call.reply.error == "shutting_down":
        return None
    names = sorted(status.value for status in possible)
    answer = f"{call.reply.status} {call.reply.error}"
    return f"{answer} for a token of {call.token.environment} that was {' or '.join(names)}"


def judge_value(call: Answered, owner: Issued | None, tables: list[str | None]) -> str | None:
    """Returns a fault unless the value was put into the same table."""
    if owner is None or call.token == owner or tables[0] == tables[1]:
        return None
    return f"a token of {call.token.environment} was given what was put under another table's"


def judge_change(ledger: Ledger, change: RequestedChange) -> str | None:
    """Returns the fault of an answer to an operator, if any."""
    if change.outcome != DONE:
        return None
    versions = ledger.between(change.environment, change.sent, change.answered)
    if change.action == "remove":
        return None if any(not each.is_there for each in versions) else "an app was not removed"
    if change.token is not None:
        is_there = any(change.token.sha256 in each.tables for each in versions)
        return None if is_there else f"{change.action}: the token that it gave never became valid"
    return None


def judge_list(
    ledger: Ledger, apps: Sequence[Environment], reply: WireReply, sent: float, *, has_failed: bool
) -> str | None:
    """Returns a fault unless the list has every app whose record was readable all the time."""
    if reply.status != 200:
        return None if has_failed else f"a list was refused: {reply.status} {reply.error}"
    listed = [f"{each['app_id']}/{each['env_id']}" for each in reply.json]
    for environment in apps:
        versions = ledger.between(environment, sent, float("inf"))
        name = f"{environment.app}/{environment.env}"
        is_due = len(listed) < LIST_LIMIT or name < listed[-1]
        if is_due and name not in listed and all(each.is_readable and each.is_there for each in versions):
            return f"a list lacks {environment}"
    return None


def judge_changes(records: StoreRecords, changes: list[RequestedChange]) -> Iterator[str]:
    """Yields faults at the end: done means applied once, refused never, unknown at most once."""
    applied = dict.fromkeys(changes, 0)
    for swap in records.swaps:
        if isinstance(swap.cause, RequestedChange) and swap.name.startswith("app/"):
            applied[swap.cause] += 1
    for change, times in applied.items():
        least = int(change.outcome == DONE and change.action != "remove")
        if not least <= times <= int(change.outcome != REFUSED):
            what = f"{change.action} of {change.environment}"
            yield f"{what} is {change.outcome}, and was applied {times} times"
