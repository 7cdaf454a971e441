"""Under any fault of the link to Redis answers are right or a timely 503, and service recovers by itself."""

import asyncio
import time

import pytest

from lab.faults.fleet import Fleet
from lab.faults.recovery import assert_right_and_in_time, check_all, until_served
from lab.store_faults.test_redis import CODES, first_success
from tests.support.link import Link
from tests.support.load import Load
from tests.support.redis import RedisServer

BACK_SECONDS = 1.0


@pytest.fixture
def server():
    with RedisServer() as server:
        yield server


@pytest.fixture
async def link(server):
    async with Link(server.port) as link:
        yield link


@pytest.fixture
async def fleet(link, tmp_path):
    store = {"kind": "redis", "url": f"redis://127.0.0.1:{link.port}/0"}
    async with Fleet(tmp_path, [{"store": store}]) as fleet:
        yield fleet


async def half_close(link: Link) -> None:
    link.end_replies()


async def flip_bits(link: Link) -> None:
    link.flip_bits()


async def make_noise(link: Link) -> None:
    link.say(b"-ERR this is nobody's reply\r\n")


async def fall_silent(link: Link) -> None:
    link.hold()
    await asyncio.sleep(1.5)
    link.release()


async def narrow(link: Link) -> None:
    """Narrow enough that replies with large values miss the deadline."""
    link.bytes_per_second = 100_000
    await asyncio.sleep(1.5)
    link.bytes_per_second = None


async def slow_down(link: Link) -> None:
    link.reply_delay = 0.4
    await asyncio.sleep(1.5)
    link.reply_delay = 0.0


async def reset(link: Link) -> None:
    link.reset()


HEAVY = [
    pytest.param(each, marks=pytest.mark.heavy)
    for each in (half_close, fall_silent, make_noise, narrow, reset)
]


@pytest.mark.parametrize("fault", [slow_down, *HEAVY])
async def test_a_link_that_fails_under_load(fleet, link, fault):
    async with Load(fleet.gateways, per_second=200) as load:
        await asyncio.sleep(1.2)
        began = time.monotonic()
        await fault(link)
        repaired = time.monotonic()
        await until_served(load)
    await check_all(load)
    assert_right_and_in_time(load)
    is_felt = fault in (fall_silent, narrow, slow_down)  # a lost connection may lose nothing
    assert not is_felt or any(answer.status == 503 for answer in load.since(began - 0.3))
    assert first_success(load.since(repaired)) < repaired + BACK_SECONDS + load.held_up


async def test_a_bit_that_flips_where_a_reply_begins_ends_the_connection(fleet, link):
    """Redis has no checksums: a damaged reply that is still well-formed looks like a good one."""
    gateway = fleet.gateways[0]
    assert (await gateway.put("k", 1)).status == 200
    link.flip_bits()
    replies = [await gateway.get("k") for _ in range(3)]
    assert {reply.error for reply in replies if reply.status == 503} <= CODES
    assert {reply.json["value"] for reply in replies if reply.status == 200} <= {1}
    async with asyncio.timeout(BACK_SECONDS + 1):
        while (await gateway.get("k")).status != 200:  # noqa: ASYNC110 - nothing signals it
            await asyncio.sleep(0.02)


async def test_another_server_behind_the_same_address_is_used_and_the_old_one_never_again(
    fleet, link, server
):
    gateway = fleet.gateways[0]
    assert (await gateway.put("k", "old")).status == 200
    with RedisServer() as successor:
        link.move_to(successor.port)
        link.reset()
        moved = time.monotonic()
        while (await gateway.put("k", "new")).status != 200:
            assert time.monotonic() - moved < 2
            await asyncio.sleep(0.02)
        before = server.command("INFO", "commandstats")
        for number in range(50):
            await gateway.put(f"k{number}", 1)
        assert successor.command("DBSIZE") > 2
        written = [line for line in before.splitlines() if line.startswith(b"cmdstat_set:")]
        after = server.command("INFO", "commandstats").splitlines()
        assert [line for line in after if line.startswith(b"cmdstat_set:")] == written
