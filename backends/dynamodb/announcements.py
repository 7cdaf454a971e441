"""Items of the change feed in DynamoDB, and the positions of its readers.

A position holds the counter at the time of the read, and the numbers up to it that had no announcement. A
number that stays missing becomes doubtful: its change may have been made and its announcement lost. The
reader then returns one incomplete answer, and keeps looking for the number for as long as DynamoDB could
still accept the request that writes it.
"""

from collections.abc import Iterable

from msgspec import Raw, Struct, field

from backends.dynamodb.items import Number, Text, change_counter_key, decode
from backends.errors import CorruptEntry

DOUBTED_AFTER_MS = 3_000
"""A call of DynamoDB takes two seconds at most, so the writer of the number has given up by then."""

GIVEN_UP_AFTER_MS = 600_000
"""DynamoDB accepts a signature for five minutes, and the signer's clock may be wrong by as much."""

_DIGITS = 20
COUNTER: str = change_counter_key()["sk"]["S"]
"""Sort key of the counter."""

_NOTHING = Raw(b"null")


class FeedItem(Struct, frozen=True):
    """An announcement, the counter, or a foreign item in their place."""

    sort_key: Text = field(name="sk")
    announced: Raw = field(name="m", default=_NOTHING)
    counted: Raw = field(name="n", default=_NOTHING)

    @property
    def name(self) -> str | None:
        """Name of the changed record; None if it cannot be decoded."""
        try:
            return decode(self.announced, Text).value
        except CorruptEntry:
            return None

    @property
    def count(self) -> int | None:
        """Last number given, if this is the counter and can be decoded."""
        try:
            return checked_number(decode(self.counted, Number))
        except CorruptEntry:
            return None


class Page(Struct, frozen=True):
    """One read of the feed: names by number (None: undecodable), the counter, and foreign items.

    Numbers above `counted` are left out: they were given after the counter was read, or never. `counted` is
    None if the counter cannot be decoded. `is_cut`: the read ended before the span did.
    """

    names: dict[int, str | None]
    counted: int | None
    foreign: list[str]
    is_cut: bool


def number_in(sort_key: str) -> int | None:
    """Returns the number of an announcement; None for the sort key of any other item."""
    is_number = len(sort_key) == _DIGITS and sort_key.isascii() and sort_key.isdecimal()
    return int(sort_key) if is_number else None


def checked_number(value: Number) -> int:
    """Returns a number that an announcement can have. Raises CorruptEntry.

    Announcements of other numbers would be taken for foreign items, and no replica would learn of the
    changes.
    """
    number = int(value)
    if not 0 <= number < 10**_DIGITS:
        raise CorruptEntry("the counter of the feed in DynamoDB was not written by this gateway")
    return number


class Position(Struct, frozen=True):
    """A reader's position.

    `last` is the counter at the last read, which was at `read_ms`. `missing` holds the numbers without an
    announcement, each with the time of the read that first missed it.
    """

    last: int = 0
    missing: dict[int, int] = field(default_factory=dict)
    read_ms: int = 0

    def behind(self, numbers: Iterable[int], counted: int, now_ms: int) -> "Position":
        """Returns the position after a read that found `numbers` while the counter was at `counted`."""
        there = set(numbers)
        since = self.missing | dict.fromkeys(range(self.last + 1, counted + 1), now_ms)
        missing = {
            number: since_ms
            for number, since_ms in since.items()
            if number not in there and now_ms - since_ms < GIVEN_UP_AFTER_MS
        }
        return Position(counted, missing, now_ms)

    def unsettled_ms(self, now_ms: int) -> int | None:
        """Returns the age of the oldest missing number that is not yet doubtful, if there is one."""
        ages = (now_ms - since_ms for since_ms in self.missing.values())
        return max((age for age in ages if age < DOUBTED_AFTER_MS), default=None)

    def brings_doubt(self, numbers: Iterable[int], now_ms: int) -> bool:
        """Returns True if a number that is still missing became doubtful since the last check."""
        there = set(numbers)
        doubted = (each + DOUBTED_AFTER_MS for number, each in self.missing.items() if number not in there)
        return any(self.read_ms < doubted_ms <= now_ms for doubted_ms in doubted)

    @classmethod
    def parse(cls, text: str) -> "Position":
        """Parses the text form of a position."""
        last, *rest = text.split()
        if not rest:
            return cls(int(last))
        pairs = (each.split("@") for each in rest[1:])
        return cls(int(last), {int(number): int(since_ms) for number, since_ms in pairs}, int(rest[0]))

    def __str__(self) -> str:
        read = [str(self.read_ms)] if self.missing else []
        return " ".join([str(self.last), *read, *(f"{number}@{ms}" for number, ms in self.missing.items())])
