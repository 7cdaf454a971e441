"""Replies of the request path are read in one step."""

import asyncio
import socket

import pytest

from backends.interface import Keyspace
from backends.redis.counters import RedisWindowCounter
from backends.redis.tables.store import RedisTables
from backends.redis.wire.commands import Keys
from backends.redis.wire.replies import error_of
from backends.redis.wire.resp import ErrorReply, Reply, ReplyReader, usual_reply
from backends.tables import Budget, Charges, GetEntry, PutEntry, Revisions, StoredEntry, Table, Written
from tests.support.ports import HOST

KEYS, POSTS = Keys("kvs"), Table("acme/blog", Keyspace("t2_posts"))


class Wire:
    """A topology of one server that records the bytes of each reply."""

    def __init__(self, server):
        self.server = server
        self.replies: list[bytes] = []

    async def call(self, _key: bytes, command: bytes) -> Reply:
        self.replies.append(await asyncio.to_thread(self._exchange, command))
        (reply,) = ReplyReader().feed(self.replies[-1])
        if isinstance(reply, ErrorReply):
            raise error_of(reply)
        return reply

    def _exchange(self, command: bytes) -> bytes:
        with socket.create_connection((HOST, self.server.port), timeout=10) as connection:
            connection.sendall(command)
            return connection.recv(65_536)


@pytest.fixture
def wire(server):
    server.command("FLUSHALL")
    return Wire(server)


async def test_replies_to_charges_are_read_in_one_step(wire):
    counter = RedisWindowCounter(wire, KEYS)
    assert [(await counter.charge("acme/blog", 2, 60_000)).admitted for _ in "123"] == [True, True, False]
    for reply in wire.replies[-3:]:
        assert usual_reply(reply).end() == len(reply)


async def test_the_reply_to_a_put_and_the_head_of_a_value_are_read_in_one_step(wire):
    tables, revisions = RedisTables(wire, "kvs"), Revisions()
    charges = Charges((Budget(POSTS.home, 10),), 60_000)
    for operation in (
        PutEntry("greeting", StoredEntry(b'"hello"', None, revisions.next())),
        PutEntry("greeting", StoredEntry(b'"hello"', 60_000, revisions.next())),
        GetEntry("greeting"),
    ):
        await tables.step(charges, POSTS, [operation], 0)  # loads the script
        before = len(wire.replies)
        done = await tables.step(charges, POSTS, [operation], 0)
        assert isinstance(done.results[0], Written | StoredEntry)
        assert len(wire.replies) == before + 1
        assert usual_reply(wire.replies[-1])
