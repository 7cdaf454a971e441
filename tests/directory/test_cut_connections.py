"""Connections to Redis that are cut repeatedly: the feed of changes is polled in between."""

import asyncio

import pytest

from backends import RedisSettings, open_backend
from backends.background import Background
from backends.clock import SystemClock
from gateway.directory.resolve.feed import FeedFollower
from gateway.directory.resolve.freshness import SILENCE_MS
from tests.support.ports import HOST
from tests.support.redis.resp import encode
from tests.support.redis.scripted import ScriptedRedis
from tests.support.stores import first_answer

pytestmark = pytest.mark.virtual_time

CUTS = 5
_INFO = b"run_id:1\r\nrole:master\r\n"


class _CutRedis:
    """The replies of a server that cuts its connections at each of the next `cuts_left` polls."""

    def __init__(self) -> None:
        self.server = ScriptedRedis(self._reply)
        self.cuts_left = 0

    def _reply(self, words: list[bytes]) -> bytes | None:
        if words[0] in {b"XRANGE", b"XREVRANGE"}:
            if self.cuts_left:
                self.cuts_left -= 1
                self.server.close_connections()
                return None
            return b"*1\r\n*2\r\n$3\r\n1-0\r\n*2\r\n$4\r\nname\r\n$1\r\nx\r\n"
        return {b"INFO": encode(_INFO)[4:], b"TIME": encode("1", "0")}.get(words[0], b"+OK\r\n")


class _Confirmations:
    """Notes when the feed confirmed the cached bindings, in seconds."""

    def __init__(self) -> None:
        self.at: list[float] = []

    def feed_confirmed(self, *_: object, **__: object) -> None:
        self.at.append(asyncio.get_running_loop().time())


def _fail(error: Exception) -> None:
    raise error


async def test_the_feed_is_answered_within_two_seconds_although_five_polls_in_a_row_are_cut():
    redis, confirmations = _CutRedis(), _Confirmations()
    async with redis.server as server:
        store = await open_backend(RedisSettings(url=f"redis://{HOST}:{server.port}"), SystemClock())
        await first_answer(store)
        feed = FeedFollower(store.records, confirmations, SystemClock())
        following = Background(feed.follow, lambda: feed.pause_seconds, _fail)
        await asyncio.sleep(5)
        redis.cuts_left = CUTS
        await asyncio.sleep(5)
        await following.close()
        await store.close()
    assert redis.cuts_left == 0
    gaps = [after - before for before, after in zip(confirmations.at, confirmations.at[1:], strict=False)]
    assert max(gaps) < SILENCE_MS / 1000
