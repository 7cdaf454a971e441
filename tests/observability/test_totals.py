"""Usage counted equals requests answered, whatever was asked."""

import asyncio
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.config import OTHER_TABLE_TOKEN, TABLE_TOKEN
from tests.support.gateway import Gateway, Reply, run_gateway
from tests.support.scraping import REQUEST_BYTES, REQUESTS, RESPONSE_BYTES, Samples, scrape, total

BODIES = {
    "put": [b'{"key":"a","value":1}', b'{"key":"b","value":[1, 2],"ttlSeconds":60}', b'{"key":"a"}'],
    "get": [b'{"key":"a"}', b'{"key":"c"}', b'{"key":""}', b"{"],
    "delete": [b'{"key":"a"}', b'{"key":"c"}', b"[]"],
}
CALLS = st.sampled_from(sorted(BODIES)).flatmap(
    lambda operation: st.fixed_dictionaries(
        {
            "operation": st.just(operation),
            "body": st.sampled_from(BODIES[operation]),
            "token": st.sampled_from([TABLE_TOKEN, TABLE_TOKEN, OTHER_TABLE_TOKEN, "nobody", None]),
            "path": st.sampled_from([None, None, None, "/v1/scan"]),
            "is_signed": st.sampled_from([True, True, True, False]),
        }
    )
)
FAULTS = st.sets(st.sampled_from(["get", "put", "delete", "charge"]))
STEPS_MS = st.sampled_from([1000, 60_000])


def outcome_of(reply: Reply) -> str | None:
    """Returns the outcome under which an answer is billed; None if it was not charged."""
    if reply.status == 200:
        return "ok" if reply.json.get("found", True) else "not_found"
    if reply.status >= 500:
        return "error"
    return {400: "invalid", 429: "rate_limited"}.get(reply.status)


class Bill:
    """Answer as the client saw it."""

    def __init__(self) -> None:
        self.usage: Counter[tuple[str, str, str]] = Counter()
        self.answers: Counter[tuple[str, str]] = Counter()
        self.refusals: Counter[str] = Counter()
        self.request_bytes = self.response_bytes = 0

    def add(self, call: dict, reply: Reply) -> None:
        operation = call["operation"] if call["path"] is None else "other"
        self.answers[operation, str(reply.status)] += 1
        if reply.status != 200:
            self.refusals[reply.error] += 1
        outcome = outcome_of(reply)
        if outcome is not None:
            table = "sessions" if call["token"] == TABLE_TOKEN else "carts"
            self.usage[table, call["operation"], outcome] += 1
            self.request_bytes += len(call["body"])
            self.response_bytes += len(reply.body)

    def compare(self, samples: Samples) -> None:
        assert self.usage == _counted(samples, REQUESTS, "table", "operation", "outcome")
        assert self.answers == _counted(samples, "kvs_http_requests_total", "operation", "status")
        assert self.refusals == Counter(
            {code: n for (code,), n in _counted(samples, "kvs_refusals_total", "code").items()}
        )
        assert total(samples, REQUEST_BYTES) == self.request_bytes
        assert total(samples, RESPONSE_BYTES) == self.response_bytes
        durations = total(samples, "kvs_http_request_duration_seconds_count")
        assert durations == self.answers.total()


def _counted(samples: Samples, name: str, *labels: str) -> Counter[tuple[str, ...]]:
    """The values above 0 of all series of a name, by some of their labels."""
    counted = Counter()
    for (each, carried), value in samples.items():
        if each == name and value:
            counted[tuple(dict(carried)[label] for label in labels)] += int(value)
    return counted


async def _send(gateway: Gateway, call: dict, bill: Bill) -> None:
    options = {} if call["is_signed"] else {"signer": None}
    reply = await gateway.call(
        call["operation"], call["body"], token=call["token"], path=call["path"], **options
    )
    bill.add(call, reply)


async def check(acts: list) -> None:
    bill = Bill()
    async with run_gateway({"rate_limit": {"requests_per_minute": 12}}) as gateway:
        for act in acts:
            match act:
                case int(step_ms):
                    gateway.clock.advance(step_ms)
                case set(operations):
                    gateway.faults.fail = operations
                case calls:
                    await asyncio.gather(*(_send(gateway, call, bill) for call in calls))
        bill.compare(await scrape(gateway))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.one_of(st.lists(CALLS, min_size=1, max_size=10), FAULTS, STEPS_MS), max_size=10))
def test_usage_counts_equal_the_answers(acts):
    asyncio.run(check(acts))


async def test_totals_are_true_after_many_concurrent_calls():
    bill = Bill()
    bodies = [(operation, body) for operation, bodies in BODIES.items() for body in bodies]
    calls = [
        {"operation": operation, "body": body, "token": token, "path": None, "is_signed": True}
        for operation, body in bodies
        for token in (TABLE_TOKEN, OTHER_TABLE_TOKEN)
        for _ in range(15)
    ]
    async with run_gateway({"rate_limit": {"requests_per_minute": 200}}) as gateway:
        await asyncio.gather(*(_send(gateway, call, bill) for call in calls))
        bill.compare(await scrape(gateway))
    assert bill.answers.total() == 300
