"""Nothing that 10,000 apps cost is paid by the event loop at once.

Holds are compared with what the whole work costs on the same machine, so that its speed does not matter.
"""

import gc
import json
import time

import pytest

from gateway.app import build_app
from gateway.config.loading import ConfigurationFile
from gateway.directory.records import AppRecord, TableRecord, app_name, encode
from gateway.domain.model import Environment
from tests.support.config import BASE, merged
from tests.support.heartbeat import Heartbeat

APPS = 10_000
REPEATED = 3
"""A hold that the code causes is in every repetition; one that the machine causes is not."""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "apps.yaml"
    apps = [
        {
            "org": "acme",
            "app": f"app{number}",
            "type": "api",
            "tables": [{"name": "t", "token_sha256": f"{number:064x}"}],
        }
        for number in range(APPS)
    ]
    path.write_text(json.dumps(merged(BASE, {"apps": apps})))  # which is YAML, too
    return ConfigurationFile(path, {})


@pytest.fixture
async def app(file, clock):
    app = await build_app(file.load(), clock)
    gc.collect()
    gc.freeze()  # as the start of a replica does
    yield app
    gc.unfreeze()


async def test_a_reload_leaves_the_work_to_a_thread_that_gives_way(app, file):
    reloads = [await _holds_of_a_reload(app, file) for _ in range(REPEATED)]
    assert min(of_the_loop for of_the_loop, _ in reloads) < 1 / 100
    assert min(of_the_process for _, of_the_process in reloads) < 1 / 12
    assert len((await app.directory.pages.apps("acme", "", 1000, lambda _: True)).found) == 1000


async def _holds_of_a_reload(app, file):
    """Returns the longest holds of the loop and of the process, as shares of the whole work."""
    began = time.process_time()
    async with Heartbeat() as heartbeat:
        await app.reload.run(file)
    whole_ms = 1000 * (time.process_time() - began)
    return heartbeat.loop_ms / whole_ms, heartbeat.process_ms / whole_ms


async def test_a_list_of_all_apps_is_made_in_pages(app):
    table = TableRecord(id="tbl_1", name="t", token_sha256="0" * 64)
    for number in range(APPS):
        environment = Environment("other", f"app{number:05d}", "production")
        record = AppRecord(environment=environment, type="api", active=True, tables=(table,) * 3)
        await app.stores.records.swap(app_name(environment), encode(record), None)
    gc.freeze()
    holds = [await _hold_of_all_pages(app) for _ in range(REPEATED)]
    assert min(holds) < 1 / 3


async def _hold_of_all_pages(app):
    """Returns the longest hold of the loop as a share of the whole work."""
    began, shown, after = time.process_time(), 0, ""
    async with Heartbeat() as heartbeat:
        while page := (await app.directory.pages.apps("other", after, 1000, lambda _: True)).found:
            shown += len(page)
            after = f"{page[-1].environment.app}/{page[-1].environment.env}"
    assert shown == APPS
    return heartbeat.loop_ms / (1000 * (time.process_time() - began))
