"""The counts that Prometheus has scraped equal those of the clients, except for killed replicas."""

import json
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from tests.support.repository import ROOT

CLIENTS = {"put", "get"}
"""Operations of clients under load. Waiting until a table is known everywhere uses deletes."""

SECONDS = 150.0
"""A series shows 0 in its first minute, and is scraped every 15 s."""


@pytest.fixture(scope="module")
def prometheus(site):
    return f"http://{site.service_address('monitoring', 'prometheus')}:9090"


def billed(prometheus: str, app: str, table: str) -> Counter[str]:
    """Requests by operation, of the last two hours."""
    to = datetime.now(UTC)
    period = ["--from", (to - timedelta(hours=2)).isoformat(), "--to", to.isoformat()]
    match = f'app="{app}",table="{table}"'
    command = [
        sys.executable,
        "-m",
        "gateway",
        "usage",
        "--prometheus",
        prometheus,
        *period,
        "--match",
        match,
    ]
    rows = json.loads(subprocess.check_output(command, cwd=ROOT, timeout=120))["rows"]
    return Counter({row["operation"]: row["requests"] for row in rows if row["operation"] in CLIENTS})


def test_replicas_that_ended_in_order_are_billed_to_the_last_request(prometheus, ledgers, shown):
    ledger = ledgers.of("load", "entries")
    assert ledger.answered
    deadline = time.monotonic() + SECONDS
    while (bill := billed(prometheus, "load", "entries")) != ledger.answered and time.monotonic() < deadline:
        time.sleep(5)
    shown.seen.append(f"billed {bill.total():,}, counted by clients {ledger.answered.total():,}")
    assert bill == ledger.answered


def test_killed_replicas_lose_their_last_moments_and_nothing_is_billed_twice(prometheus, ledgers, shown):
    ledger = ledgers.of("faults", "entries")
    assert ledger.unanswered
    bill = billed(prometheus, "faults", "entries").total()
    answered = ledger.answered.total()
    others = f"refused {ledger.refused:,}, unanswered {ledger.unanswered:,}"
    shown.seen.append(f"billed {bill:,}; answered with 200 {answered:,}, {others}")
    assert 0 < bill <= answered + ledger.refused + ledger.unanswered
