"""A configuration that is broken, deleted and put right while requests come in fails none of them."""

import asyncio
import signal

import yaml

from tests.support.config import BASE, TABLE_TOKEN, merged
from tests.support.evidence import note_fault
from tests.support.load import Load, client_of
from tests.support.process import GatewayProcess
from tests.support.replicas import until_ready

UNLIMITED = merged(BASE, {"rate_limit": {"requests_per_minute": 1_000_000_000}})
SUCCESSFUL = "kvs_config_last_reload_successful"
NEW_TOKEN = "the-token-of-a-new-table"
BROKEN = ("region: [", "no_such_section: 1\nregion: eu-central-1\n", "", "apps: ${NO_SUCH_VARIABLE}\n")


async def until_successful(gateway, expected: float) -> None:
    async with asyncio.timeout(10):
        while (await gateway.metrics())[SUCCESSFUL] != expected:  # noqa: ASYNC110 - nothing signals it
            await asyncio.sleep(0.05)


async def test_a_broken_and_a_deleted_file_under_load(tmp_path):
    file = tmp_path / "config.yaml"
    good = yaml.safe_dump(UNLIMITED)
    file.write_text(good)
    with await asyncio.to_thread(GatewayProcess, file, tmp_path) as process:
        async with client_of(process) as gateway:
            await until_ready(gateway)
            async with Load([gateway], per_second=300) as load:
                for text in BROKEN:
                    note_fault("configuration broken")
                    file.write_text(text)
                    process.signal(signal.SIGHUP)
                    await until_successful(gateway, 0)
                    file.write_text(good)
                    process.signal(signal.SIGHUP)
                    await until_successful(gateway, 1)
                note_fault("configuration deleted")
                file.unlink()
                await until_successful(gateway, 0)
                assert (await gateway.ask_ops("/readyz")).status == 200
                await _put_right_with_a_new_table(gateway, file)
            await load.check_all()
    assert load.lies == []
    assert {(answer.status, answer.code) for answer in load.answers} == {(200, None)}


async def _put_right_with_a_new_table(gateway, file) -> None:
    tables = [{"name": "sessions", "token": TABLE_TOKEN}, {"name": "new", "token": NEW_TOKEN}]
    app = {"org": "acme", "app": "shop", "type": "api", "tables": tables}
    file.write_text(yaml.safe_dump({**UNLIMITED, "apps": [app]}))
    await until_successful(gateway, 1)
    assert (await gateway.put("k", 1, token=NEW_TOKEN)).status == 200
