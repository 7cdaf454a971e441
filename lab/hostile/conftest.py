"""Gateways in processes of their own, with short deadlines for clients."""

import pytest

from lab.hostile.limits import raise_file_limit
from tests.support.config import BASE, merged
from tests.support.process import GatewayProcess

SECONDS = 1.5
DEADLINES = {f"{what}_seconds": SECONDS for what in ("head", "body", "idle", "write")}


@pytest.fixture
def start(tmp_path):
    """Start a gateway with these changes of its configuration; it is killed if the test does not end it."""
    raise_file_limit()
    started = []

    def start(*, launcher=(), **changes) -> GatewayProcess:
        folder = tmp_path / str(len(started))
        folder.mkdir()
        edge = {"edge": DEADLINES, "rate_limit": {"requests_per_minute": 1_000_000_000}}
        started.append(GatewayProcess(merged(merged(BASE, edge), changes), folder, launcher=launcher))
        return started[-1]

    yield start
    for process in started:
        process.__exit__()
