"""From the release before to this one and back, under load, on Redis and DynamoDB: nothing is lost."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest

from lab.cluster.enclosure import NODE_ADDRESS
from lab.cluster.images import GATEWAY
from lab.cluster.load import Caller, Load
from tests.support.wire import read_reply

ENGINE = f"http://{NODE_ADDRESS}:443"
"""A port that the policy for AWS lets pods reach."""

ON_DYNAMODB = {
    "store": {"endpoint_url": ENGINE, "create_table": True},
}
KEYS = [
    {"name": "AWS_ACCESS_KEY_ID", "value": "upgrade"},
    {"name": "AWS_SECRET_ACCESS_KEY", "value": "upgrade"},
]
WITH_KEYS = [{"op": "add", "path": "/spec/template/spec/containers/0/env", "value": KEYS}]

STORES = {
    "Redis": {"overlay": "redis"},
    "DynamoDB": {"overlay": "dynamodb-pod-identity", "configuration": ON_DYNAMODB, "patches": [WITH_KEYS]},
}
ENTRIES = 200


@pytest.fixture(scope="module")
def engine(site):
    """DynamoDB, as ministack does it, on the node; after it the gateway is on Redis again, and new."""
    environment = {
        **os.environ,
        "BIND_HOST": NODE_ADDRESS,
        "GATEWAY_PORT": "443",
        "SERVICES": "dynamodb",
        "MINISTACK_REGION": "eu-central-1",
        "LOG_LEVEL": "WARNING",
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        "DOCKER_HOST": f"unix://{site.folder}/no-docker",
    }
    with (site.folder / "dynamodb.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "ministack"], env=environment, stdout=log, stderr=log
        )
    site.until(_answers)
    yield
    install(site, "now", "Redis")
    process.kill()
    process.wait()


def _answers() -> bool:
    try:
        with urlopen(ENGINE, timeout=1):
            return True
    except HTTPError:
        return True
    except (URLError, OSError):
        return False


def install(site, image: str, store: str) -> None:
    site.write(image, **STORES[store])
    site.apply()
    site.settled(2)
    (running,) = {pod["spec"]["containers"][0]["image"] for pod in site.pods()}
    assert running.endswith(site.node.digest(f"{GATEWAY}:{image}"))


async def put_all(caller: Caller, entries: dict[str, int]) -> None:
    for key, value in entries.items():
        assert (await call(caller, "put", {"key": key, "value": value}))["ok"]


async def get_all(caller: Caller, keys: Iterable[str]) -> dict[str, int]:
    return {key: (await call(caller, "get", {"key": key})).get("value") for key in keys}


async def call(caller: Caller, operation: str, body: dict[str, object]) -> dict[str, Any]:
    reader, writer = await asyncio.open_connection(*caller.address)
    writer.write(caller.request(operation, body, closes=True))
    reply = await read_reply(reader)
    writer.close()
    assert reply.status == 200, reply.body
    return json.loads(reply.body)


@pytest.mark.parametrize("store", STORES)
async def test_an_upgrade_and_its_rollback_lose_and_refuse_nothing(store, site, engine, shown):
    await asyncio.to_thread(install, site, "before", store)
    caller = site.caller(f"upgrade-{store.lower()}", "entries")
    written = {f"entry {number}": number for number in range(ENTRIES)}
    await put_all(caller, written)
    for image in ("now", "before"):
        async with Load(caller, kept=6, fresh=6, name=image) as load:
            await asyncio.to_thread(install, site, image, store)
        load.show(shown)
        assert load.failures == load.wrong == []
        assert load.answered > ENTRIES
        assert await get_all(caller, written) == written
        more = {f"written on {image} {number}": number for number in range(ENTRIES)}
        await put_all(caller, more)
        written |= more
    assert await get_all(caller, written) == written
    shown.seen.append(f"{len(written)} entries kept")
