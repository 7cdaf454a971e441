"""What Redis refuses, as the errors of the ports.

Redis begins each refusal with a word in capitals. Its own text may quote a key or a value,
so only the word is repeated.
"""

import re
from typing import Any

import hiredis

from backends.errors import BackendError, BackendMisconfigured, BackendUnavailable, CorruptEntry, StoreFull
from backends.redis.url import Address

SLOTS = 16_384
NOT_REDIS = "what answers there does not speak as Redis does"

_OF_A_CLUSTER = "is part of a cluster: redis+cluster:// is for those"


class MissingScript(BackendError):
    """The server does not know the script by its hash (NOSCRIPT): it was restarted, or is another one."""


class PartlyRefused(BackendUnavailable):
    """The server refuses writes, or a slot, for now; other calls it answers."""


class NotServed(PartlyRefused):
    """The node knows of no master for the slot, or finds its cluster out of order; nothing was done."""


class NotMaster(PartlyRefused):
    """The server has become a replica: another one may be the master."""


class Redirected(BackendMisconfigured):
    """Another node of the cluster serves the key; nothing was done.

    `is_asking`: for this command only, while the slot is on its way there.
    """

    def __init__(self, address: Address, slot: int, *, is_asking: bool) -> None:
        super().__init__(f"{_OF_A_CLUSTER} (MOVED)")
        self.address = address
        self.slot = slot
        self.is_asking = is_asking


_BY_WORD: dict[str, tuple[type[BackendError], str]] = {
    "ASK": (BackendMisconfigured, _OF_A_CLUSTER),
    "BUSY": (BackendUnavailable, "runs a script that does not end"),
    "CLUSTERDOWN": (NotServed, "its cluster does not serve this slot"),
    "DENIED": (BackendMisconfigured, "runs in protected mode"),
    "LOADING": (BackendUnavailable, "is loading its data"),
    "MASTERDOWN": (BackendUnavailable, "has lost its master"),
    "MISCONF": (PartlyRefused, "cannot save its data and refuses writes"),
    "MOVED": (BackendMisconfigured, _OF_A_CLUSTER),
    "NOAUTH": (BackendMisconfigured, "asks for a password"),
    "NOPERM": (BackendMisconfigured, "does not permit this to the user"),
    "NOREPLICAS": (PartlyRefused, "has too few replicas to accept writes"),
    "NOSCRIPT": (MissingScript, "does not know the script"),
    "OOM": (StoreFull, "has reached maxmemory"),
    "READONLY": (NotMaster, "is a replica and refuses writes"),
    "TRYAGAIN": (BackendUnavailable, "is moving the slot"),
    "UNBLOCKED": (BackendUnavailable, "changed its role"),
    "WRONGPASS": (BackendMisconfigured, "does not accept user and password"),
    "WRONGTYPE": (CorruptEntry, "holds something else under this name"),
}
_NOWHERE = "redirects to an address that is none"
_NO_COUNTER = "holds something else than a counter under this name"
_BY_BEGINNING: dict[str, tuple[type[BackendError], str]] = {
    "AUTH ": (BackendMisconfigured, "asks for no password, but was given one"),
    "DB index is out of range": (BackendMisconfigured, "has no database of this number"),
    "SELECT is not allowed in cluster mode": (BackendMisconfigured, _OF_A_CLUSTER),
    "This instance has cluster support disabled": (
        BackendMisconfigured,
        "is not part of a cluster: redis:// is for those",
    ),
    "max number of clients reached": (BackendUnavailable, "accepts no more connections (maxclients)"),
    "increment or decrement would overflow": (CorruptEntry, _NO_COUNTER),
    "value is not an integer": (CorruptEntry, _NO_COUNTER),
}
"""What the word ERR stands for, by what follows it."""

_SLOT_AND_PLACE = re.compile(r"([0-9]{1,5}) (.*):([0-9]{1,5})")
_IN_A_SCRIPT = re.compile(
    r"ERR Error running script .*?(?:@user_script: ?[0-9]+: )+-?(?P<refusal>.*)", re.DOTALL
)
"""Before 7.0 Redis does not begin with the word that a command inside a script was refused with."""


def fault_of(refusal: hiredis.ReplyError) -> BackendError:
    """The error that stands for a refusal."""
    word, rest = _parts(refusal)
    if word in _BY_WORD:
        kind, condition = _BY_WORD[word]
        return kind(f"{condition} ({word})")
    if word == "ERR":
        return _other(rest)
    return BackendMisconfigured("refuses the command")


def fault_of_command(refusal: hiredis.ReplyError, host: str) -> BackendError:
    """The error that stands for a refusal of a command on a key, which `host` may redirect.

    What has no key has no slot: a redirection is then a refusal like others, and nothing follows it.
    """
    word, rest = _parts(refusal)
    if word in ("MOVED", "ASK"):
        return _redirection(rest, host, is_asking=word == "ASK")
    return fault_of(refusal)


def _parts(refusal: hiredis.ReplyError) -> tuple[str, str]:
    text = str(refusal)
    inner = _IN_A_SCRIPT.match(text)
    word, _, rest = (inner["refusal"] if inner else text).partition(" ")
    return word, rest


def page_of(reply: Any) -> tuple[bytes, list[bytes]]:
    """Cursor and elements of a reply to SCAN or HSCAN. Raises BackendUnavailable."""
    match reply:
        case [bytes(cursor), list(elements)] if all(isinstance(element, bytes) for element in elements):
            return cursor, elements
    raise BackendUnavailable(NOT_REDIS)


def _other(text: str) -> BackendError:
    for beginning, (kind, condition) in _BY_BEGINNING.items():
        if text.startswith(beginning):
            return kind(condition)
    return BackendMisconfigured(
        "does not know this command, or not in this form: Redis 6.2 or newer is needed"
    )


def _redirection(rest: str, host: str, *, is_asking: bool) -> BackendError:
    """`3999 127.0.0.1:6381`; a node that does not know its own name leaves the host out."""
    parts = _SLOT_AND_PLACE.fullmatch(rest)
    if parts is None:
        return BackendMisconfigured(_NOWHERE)
    slot, port = int(parts[1]), int(parts[3])
    if slot >= SLOTS or not 0 < port < 65536:
        return BackendMisconfigured(_NOWHERE)
    return Redirected(Address(parts[2] or host, port), slot, is_asking=is_asking)
