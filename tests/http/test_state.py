"""The table of a connection's transitions, and the promises that the connection builds on."""

import pytest

from gateway.http.connection import Connection
from gateway.http.state import BUSY, IDLE, TRANSITIONS, Event, State, UnknownTransition

ENDS = {State.CLOSING, State.BROKEN, State.CLOSED}


def test_every_state_has_a_row_and_is_reached_from_a_new_connection():
    assert set(TRANSITIONS) == set(State)
    reached, found = {State.NEW}, {State.NEW}
    while found:
        found = {after for state in found for after in TRANSITIONS[state].values()} - reached
        reached |= found
    assert reached == set(State)


def test_every_open_connection_may_be_closed_aborted_or_lost():
    for state in set(State) - ENDS:
        row = TRANSITIONS[state]
        assert row[Event.CLOSE] is State.CLOSING
        assert row[Event.ABORT] is row[Event.RESET] is State.BROKEN
        assert row[Event.LOST] is State.CLOSED


def test_a_connection_that_ends_never_serves_again():
    for state in set(State) - IDLE - BUSY:
        assert all(after >= state for after in TRANSITIONS[state].values())


def test_only_a_connection_that_may_be_evicted_or_serves_takes_in_bytes():
    takes_in = {state for state in State if Event.MESSAGE in TRANSITIONS[state]}
    assert takes_in == {state for state in State if state < State.LINGERING}


def test_a_client_that_sends_on_without_reading_can_still_be_evicted():
    assert TRANSITIONS[State.UNREAD][Event.MESSAGE] is State.UNREAD


async def test_an_event_that_a_state_does_not_know_is_an_error(gateway, unknown_transitions):
    connection = Connection(gateway.app.data.service)
    with pytest.raises(UnknownTransition, match="KEEP in NEW"):
        connection._on(Event.KEEP)
    unknown_transitions.clear()
