"""What the items of the feed in DynamoDB say, and the positions of those who read it.

A position is the last number that was counted when the feed was read, and the numbers up to it that were
missing. One that stays missing is in doubt after a while: its change may have been made and its announcement
lost, so the feed is incomplete once. It is asked for further on, until no request that was signed for it can
be accepted any more.
"""

from collections.abc import Iterable

from msgspec import Raw, Struct, field

from backends.dynamodb.items import Number, QueryOutput, Text, change_counter_key, decode
from backends.errors import CorruptEntry

DOUBTED_AFTER_MS = 3_000
"""A call of DynamoDB takes two seconds at most, so its changer has gone."""

GIVEN_UP_AFTER_MS = 600_000
"""DynamoDB accepts a signature for five minutes; the signer's clock may be as wrong."""

_DIGITS = 20
_COUNTER = change_counter_key()["sk"]["S"]
_NOTHING = Raw(b"null")


class FeedItem(Struct, frozen=True):
    """An announcement, the counter, or what somebody else wrote in their place."""

    sort_key: Text = field(name="sk")
    announced: Raw = field(name="m", default=_NOTHING)
    counted: Raw = field(name="n", default=_NOTHING)

    @property
    def number(self) -> int | None:
        """Of an announcement; None for all else."""
        text = self.sort_key.value
        return int(text) if len(text) == _DIGITS and text.isascii() and text.isdecimal() else None

    @property
    def name(self) -> str | None:
        """Of the record that was changed; None if it cannot be understood."""
        try:
            return decode(self.announced, Text).value
        except CorruptEntry:
            return None

    @property
    def count(self) -> int | None:
        """The last number that was given, if this is the counter and can be understood."""
        try:
            return int(decode(self.counted, Number))
        except CorruptEntry:
            return None


class Page(Struct, frozen=True):
    """What was read: names by number (None: cannot be understood), the count, and what is none of the feed.

    A number above `counted` was given after the counter was read, or never: its turn comes, or does not.
    `counted` is None if that cannot be known.
    """

    names: dict[int, str | None]
    counted: int | None
    foreign: list[str]


def page_of(output: QueryOutput[FeedItem]) -> Page:
    """A page that ends before the counter does not know what was counted."""
    counter = next((item for item in output.items if item.sort_key.value == _COUNTER), None)
    counted = counter.count if counter is not None else None if bytes(output.last) else 0
    found = [(item, item.number) for item in output.items if item is not counter]
    names = {number: item.name for item, number in found if number is not None}
    foreign = [item.sort_key.value for item, number in found if number is None or item.name is None]
    return Page({n: name for n, name in names.items() if counted is None or n <= counted}, counted, foreign)


class Position(Struct, frozen=True):
    """`missing`: numbers, and since when they are; `read_ms`: when that was looked at, if there are any."""

    last: int = 0
    missing: dict[int, int] = field(default_factory=dict)
    read_ms: int = 0

    def behind(self, numbers: Iterable[int], counted: int, now_ms: int) -> "Position":
        """The position once these numbers were read, too, of all that were counted."""
        there = set(numbers)
        since = self.missing | dict.fromkeys(range(self.last + 1, counted + 1), now_ms)
        missing = {
            number: since_ms
            for number, since_ms in since.items()
            if number not in there and now_ms - since_ms < GIVEN_UP_AFTER_MS
        }
        return Position(counted, missing, now_ms)

    def brings_doubt(self, numbers: Iterable[int], now_ms: int) -> bool:
        """Whether one that is missing here, and none of `numbers`, has come to be in doubt by now."""
        there = set(numbers)
        doubted = (each + DOUBTED_AFTER_MS for number, each in self.missing.items() if number not in there)
        return any(self.read_ms < doubted_ms <= now_ms for doubted_ms in doubted)

    @classmethod
    def parse(cls, text: str) -> "Position":
        """What `str` gave."""
        last, *rest = text.split()
        if not rest:
            return cls(int(last))
        pairs = (each.split("@") for each in rest[1:])
        return cls(int(last), {int(number): int(since_ms) for number, since_ms in pairs}, int(rest[0]))

    def __str__(self) -> str:
        read = [str(self.read_ms)] if self.missing else []
        return " ".join([str(self.last), *read, *(f"{number}@{ms}" for number, ms in self.missing.items())])
