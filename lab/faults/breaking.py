"""Promises of the directory, each broken on purpose: the simulation must notice every one."""

from backends.dynamodb.announcements import Position
from backends.errors import BackendUnavailable
from backends.interface import Record
from gateway.directory.apps.changes import DocumentChange
from gateway.directory.apps.pages import DirectoryPages
from gateway.directory.apps.side_records import SideRecords
from gateway.directory.corrupt import CorruptRecords
from gateway.directory.reclaim.intents import Intents
from gateway.directory.reclaim.lease import Lease
from gateway.directory.records import LEASE, AppRecord
from gateway.directory.resolve.bindings import CachedBindings
from gateway.directory.resolve.feed import FeedFollower
from gateway.directory.resolve.freshness import Freshness
from gateway.directory.resolve.single_flight import SingleFlight
from gateway.http.turns import Turns
from lab.simulation.records import StoreRecords

_swap, _announce, _settle, _changes = (
    DocumentChange._swap,
    SideRecords.announce,
    SideRecords.settle,
    StoreRecords.changes,
)


def _fail_whatever_was_sent(self, error):
    return error


async def _believe_in_a_lost_reply(self, record, changed):
    try:
        return await _swap(self, record, changed)
    except BackendUnavailable:
        return changed


def _drop_what_was_sent(self, record, now):
    self._sent.clear()


async def _drop_announcements(self):
    self._bindings.feed_confirmed(self._now_ms(), is_complete=True)


async def _never_admit_a_gap(self, position):
    feed = await _changes(self, position)
    return type(feed)(feed.names, feed.position, is_complete=position is not None)


def _trust_a_silent_feed(self, cached):
    return cached.covered_by_feed and cached.epoch == self._epoch


def _outlive_any_outage(self, cached):
    self.expire(cached)
    return cached.confirmed_ms > 0


def _overlook_declarations(self, binding):
    return binding


async def _stop_at_a_corrupt_record(self, named, is_shown):
    decode = self._corrupt.decode
    return [
        decode(name, each, AppRecord) if isinstance(each, Record) else each
        for app, name, each in named
        if is_shown(app)
    ]


async def _decode_or_give_up(self, name, record):
    return self.decode(name, record, AppRecord)


async def _drop_after_one_purge(self, name, version):
    record = await self._records.read(name)
    await self._swap(name, record, None)


async def _wait_for_the_holder(self):
    record = await self._records.read(LEASE)
    return record is not None and not self._is_own(record)


async def _announce_no_intents(self, tokens, doomed_tables):
    await _announce(self, tokens, set())


async def _announce_no_pointers(self, tokens, doomed_tables):
    await _announce(self, set(), doomed_tables)


async def _swap_whatever_is_there(self, name, document, expected):
    record = await self._inner.read(name)
    expected = None if record is None else record.version
    return await _store_swap(self, name, document, expected)


_store_swap, _usable_during_outage = StoreRecords.swap, Freshness.usable_during_outage


async def _believe_any_server(self, position):
    if position is not None:
        position = f"{self._run} {position.partition(' ')[2]}"
    return await _changes(self, position)


def _miss_nothing(self, numbers, counted, now_ms):
    return Position(counted)


def _doubt_nothing(self, numbers, now_ms):
    return False


def _outlive_a_gap(self, cached):
    self.expire(cached)
    cached.may_be_stale = True
    return _usable_during_outage(self, cached)


def _overtake_no_lookup(self, environment):
    """Leaves lookups in flight attached."""


def _give_the_turn_to_nobody(self):
    """Leaves the requests of all lanes waiting."""


def _keep_bindings(self, environment):
    """Keeps using the changed value."""


BROKEN = {
    "a lost reply counts as a refusal": (DocumentChange, "_failure", _fail_whatever_was_sent),
    "a lost reply counts as done": (DocumentChange, "_swap", _believe_in_a_lost_reply),
    "a change without a reply is made anew": (DocumentChange, "_judge_sent", _drop_what_was_sent),
    "a swap replaces whatever is there": (StoreRecords, "swap", _swap_whatever_is_there),
    "announcements are dropped": (FeedFollower, "follow", _drop_announcements),
    "a feed that was cut short is taken for complete": (StoreRecords, "changes", _never_admit_a_gap),
    "the feed of another server is taken for complete": (StoreRecords, "changes", _believe_any_server),
    "missing numbers are not waited for": (Position, "behind", _miss_nothing),
    "a lost announcement is not doubted": (Position, "brings_doubt", _doubt_nothing),
    "a gap does not shorten the use of a binding": (
        Freshness,
        "usable_during_outage",
        _outlive_a_gap,
    ),
    "a silent feed is trusted": (Freshness, "is_fresh", _trust_a_silent_feed),
    "a binding is used throughout any outage": (Freshness, "usable_during_outage", _outlive_any_outage),
    "a change leaves the bindings of its own replica": (CachedBindings, "invalidate", _keep_bindings),
    "a change leaves lookups in flight": (SingleFlight, "note_change", _overtake_no_lookup),
    "a declaration leaves managed tokens": (CachedBindings, "_unless_void", _overlook_declarations),
    "a corrupt record stops a list": (DirectoryPages, "_readable", _stop_at_a_corrupt_record),
    "a corrupt app cannot be removed": (CorruptRecords, "salvage", _decode_or_give_up),
    "a deleted table is purged once": (Intents, "note_purged", _drop_after_one_purge),
    "a lease is never taken over": (Lease, "is_elsewhere", _wait_for_the_holder),
    "an intent is written after the table is gone": (SideRecords, "announce", _announce_no_intents),
    "a piece of work keeps its turn": (Turns, "pass_on", _give_the_turn_to_nobody),
    "a token has no pointer": (SideRecords, "announce", _announce_no_pointers),
}

SHOWN_BY = {
    "a lost reply counts as a refusal": 259,
    "a feed that was cut short is taken for complete": 8,
    "the feed of another server is taken for complete": 28,
    "missing numbers are not waited for": 63,
    "a lost announcement is not doubted": 199,
    "a gap does not shorten the use of a binding": 14,
    "a binding is used throughout any outage": 12,
    "a change leaves lookups in flight": 13,
    "a corrupt record stops a list": 14,
    "a corrupt app cannot be removed": 14,
    "a deleted table is purged once": 58,
    "an intent is written after the table is gone": 61,
}
"""Seeds that a search begins with; from 0 a search takes minutes. A change of the simulation changes them."""
