"""Servers that scrape from one address, whose connections end at any time: none is taken for another."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.replica.drain import LastScrapes

NAT = "192.0.2.1"


class Connected:
    """The task of a connection."""

    def __init__(self) -> None:
        self.has_ended = False

    def done(self) -> bool:
        return self.has_ended


@dataclass(eq=False)
class Server:
    """A Prometheus: keeps its connection, and opens another one if that has ended."""

    address: str = NAT
    connection: Connected = field(default_factory=Connected)
    has_read: bool = False

    def scrape(self, last: LastScrapes) -> bool:
        """Scrapes and reads. Returns whether the response closed the connection."""
        if self.connection.has_ended:
            self.connection = Connected()
        was_read = last.begin(self.address, self.connection)
        self.has_read = True
        if was_read is not None:
            was_read()
            self.connection.has_ended = True
        return was_read is not None

    def lose(self) -> None:
        self.connection.has_ended = True


class TakenByAddress(LastScrapes):
    """Breaks the promise: a new connection is that of any server whose connection has ended."""

    def begin(self, peer, connection):
        def was_read() -> None:
            ended = [each for each, other in self._missing.items() if other == peer and each.done()]
            self._missing.pop(connection if connection in self._missing or not ended else ended[0], None)
            if not self._missing:
                self.set()

        return was_read


def waiting_for(*servers: Server, kind: type[LastScrapes] = LastScrapes) -> LastScrapes:
    return kind({each.connection: each.address for each in servers})


def test_a_server_whose_connection_ends_in_the_drain_is_not_taken_for_a_faster_one_of_its_address():
    fast, slow = Server(), Server()
    last = waiting_for(fast, slow)
    fast.scrape(last)
    slow.lose()
    for _ in range(5):
        fast.scrape(last)
        assert not last.is_set()
    slow.scrape(last)
    fast.scrape(last)
    assert last.is_set()


def test_a_faster_server_that_returned_before_is_known_by_its_new_connection():
    fast, slow = Server(), Server()
    last = waiting_for(fast, slow)
    for _ in range(3):
        fast.scrape(last)
    slow.lose()
    for _ in range(3):
        assert not fast.scrape(last)
    slow.scrape(last)
    assert last.is_set()


def test_servers_of_one_address_scrape_once_each_if_their_connections_last():
    servers = [Server() for _ in range(3)]
    last = waiting_for(*servers)
    assert all(each.scrape(last) for each in servers)
    assert last.is_set()


def test_a_server_alone_at_its_address_is_known_on_any_connection():
    alone, other = Server("192.0.2.7"), Server()
    last = waiting_for(alone, other)
    other.scrape(last)
    alone.lose()
    alone.scrape(last)
    assert last.is_set()


def test_without_a_known_server_any_scrape_is_the_last_one():
    last = waiting_for()
    Server().scrape(last)
    assert last.is_set()


ACTS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["scrape", "scrape", "lose"])), max_size=40)


def play(acts, kind: type[LastScrapes] = LastScrapes) -> None:
    servers = [Server(), Server(), Server(), Server("192.0.2.7")]
    last = waiting_for(*servers, kind=kind)
    for number, act in acts:
        if act == "lose":
            servers[number].lose()
        else:
            servers[number].scrape(last)
        assert not last.is_set() or all(each.has_read for each in servers)
    for _ in range(2):
        for each in servers:
            each.scrape(last)
    assert last.is_set()


@given(ACTS)
def test_a_drain_ends_when_every_server_has_read_and_at_the_latest_when_each_has_come_twice(acts):
    play(acts)


def test_a_drain_that_goes_by_addresses_is_noticed():
    acts = [(3, "scrape"), (0, "scrape"), (1, "scrape"), (2, "lose"), (0, "scrape")]
    play(acts)
    with pytest.raises(AssertionError):
        play(acts, TakenByAddress)
