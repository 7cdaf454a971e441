"""When the configuration is read again: after a change that has come to rest, and on demand."""

import asyncio
import os
import signal
from contextlib import asynccontextmanager

import pytest
import yaml

from gateway.config.loading import ConfigurationFile
from gateway.config.problems import InvalidConfiguration
from gateway.replica import reload as reloading
from tests.replica.watched import watching, write
from tests.support.config import BASE, TABLE_TOKEN, merged
from tests.support.process import GatewayProcess
from tests.support.raw_client import Connection
from tests.support.servers import wait_for
from tests.support.wire import until


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(reloading, "_LOOK_SECONDS", 0.02)


@asynccontextmanager
async def counting_reloads(watched):
    """The reloads that watching causes, as they end."""
    done = []
    reload = watched.gateway.app.reload
    run = reload.run

    async def counted(file):
        await run(file)
        done.append(None)

    reload.run = counted
    background = reloading.FileWatch(watched.file, reload).start()
    yield done
    await background.close()


def table(token):
    return {
        "apps": [{"org": "acme", "app": "shop", "type": "api", "tables": [{"name": "t", "token": token}]}]
    }


async def test_a_changed_file_is_read_once(tmp_path, quick):
    async with watching(tmp_path) as watched, counting_reloads(watched) as done:
        write(watched.path, table("new-token"))
        await until(lambda: done)
        assert (await watched.gateway.get("k", token="new-token")).status == 200
        await asyncio.sleep(0.2)
        assert len(done) == 1


async def test_a_file_that_does_not_change_is_not_read(tmp_path, quick):
    async with watching(tmp_path) as watched, counting_reloads(watched) as done:
        await asyncio.sleep(0.2)
        assert not done


async def test_a_broken_file_is_reported_once_and_its_correction_is_noticed(tmp_path, quick):
    async with watching(tmp_path) as watched, counting_reloads(watched) as done:
        watched.path.write_text("region: [")
        await until(lambda: done)
        await asyncio.sleep(0.2)
        assert len(done) == 1
        write(watched.path, table("corrected-token"))
        await until(lambda: len(done) == 2)
        assert (await watched.gateway.get("k", token="corrected-token")).status == 200


async def test_a_file_that_is_still_being_written_is_not_read(tmp_path, monkeypatch):
    looks = []
    async with watching(tmp_path) as watched:
        look = watched.file.look
        monkeypatch.setattr(reloading, "_LOOK_SECONDS", 0.005)

        def look_and_write_on():
            looks.append(None)
            watched.path.write_text(f"region: eu-central-1 # {'x' * len(looks)}\n")
            return look()

        monkeypatch.setattr(watched.file, "look", look_and_write_on)
        async with counting_reloads(watched) as done:
            await until(lambda: len(looks) > 20)
            assert not done


async def test_a_mounted_secret_that_kubernetes_replaces_is_noticed(tmp_path, quick):
    """A mounted volume: its files are links into a folder that one link is swapped to."""
    for number in (1, 2):
        (tmp_path / f"..{number}").mkdir()
        (tmp_path / f"..{number}" / "token").write_text(f"token-{number}-")
    (tmp_path / "..data").symlink_to("..1")
    (tmp_path / "token").symlink_to("..data/token")
    async with watching(tmp_path, **table(f"file:{tmp_path}/token")) as watched:
        async with counting_reloads(watched) as done:
            (tmp_path / "..new").symlink_to("..2")
            (tmp_path / "..new").rename(tmp_path / "..data")
            await until(lambda: done)
        assert (await watched.gateway.get("k", token="token-1-")).error == "invalid_token"
        assert (await watched.gateway.get("k", token="token-2-")).status == 200


def test_the_files_that_a_broken_file_would_need_are_watched(tmp_path):
    path, secret = tmp_path / "config.yaml", tmp_path / "token"
    write(path, table(f"file:{secret}"))
    file = ConfigurationFile(path, {})
    with pytest.raises(InvalidConfiguration):
        file.load()
    assert set(file.marks) == {path, secret}
    assert file.look() == file.marks
    secret.write_text("now-it-is-there")
    assert file.look() != file.marks
    file.load()
    assert file.look() == file.marks


def test_files_that_are_no_longer_named_are_no_longer_watched(tmp_path):
    path, secret = tmp_path / "config.yaml", tmp_path / "token"
    secret.write_text("a-token")
    write(path, table(f"file:{secret}"))
    file = ConfigurationFile(path, {})
    file.load()
    write(path, {})
    file.load()
    assert set(file.marks) == {path}


@pytest.fixture
def replica(tmp_path):
    off = {"signature": {"mode": "off"}}
    with GatewayProcess(merged(BASE, off), tmp_path) as process:
        yield process


def rewrite(tmp_path, **changes):
    """The file as an editor replaces it: at once."""
    new = tmp_path / "new.yaml"
    new.write_text(yaml.safe_dump(merged(merged(BASE, {"signature": {"mode": "off"}}), changes)))
    new.rename(tmp_path / "config.yaml")


def status(replica) -> int:
    with Connection(replica.urls["data"]) as client:
        return client.call()[0]


def test_sighup_reloads_at_once_and_ends_nothing(replica, tmp_path):
    with Connection(replica.urls["data"]) as kept:
        assert kept.call()[0] == 200
        rewrite(tmp_path, apps=[])
        replica.signal(signal.SIGHUP)
        wait_for(lambda: kept.call()[0] == 401, "the answer 401")
        rewrite(tmp_path)
        replica.signal(signal.SIGHUP)
        wait_for(lambda: kept.call()[0] == 200, "the answer 200")
    assert replica.process.poll() is None
    assert "was reloaded" in replica.log.read_text()


def test_a_changed_file_takes_effect_without_a_signal(replica, tmp_path):
    rewrite(tmp_path, apps=[])
    wait_for(lambda: status(replica) == 401, "the answer 401")
    rewrite(tmp_path, **table(TABLE_TOKEN))
    wait_for(lambda: status(replica) == 200, "the answer 200")


def test_a_storm_of_signals_does_no_harm(replica, tmp_path):
    for number in range(200):
        if number == 100:
            rewrite(tmp_path, apps=[])
        os.kill(replica.process.pid, signal.SIGHUP)
    wait_for(lambda: status(replica) == 401, "the answer 401")
    assert replica.process.poll() is None


def test_sighup_while_draining_does_not_end_the_drain(tmp_path):
    shutdown = {"shutdown": {"drain_seconds": 3, "grace_seconds": 1.0}, "signature": {"mode": "off"}}
    with GatewayProcess(merged(BASE, shutdown), tmp_path) as process:
        process.signal(signal.SIGTERM)
        process.signal(signal.SIGHUP)
        assert status(process) == 200
        assert process.wait() == 0
