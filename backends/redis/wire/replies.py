"""Error replies of Redis as the errors of the ports.

Redis begins each error reply with a word in capitals. The rest may quote a key or a value, so only the
word is repeated (D100).
"""

import re
from typing import Any

import hiredis

from backends.errors import BackendError, BackendMisconfigured, BackendUnavailable, CorruptEntry, StoreFull
from backends.redis.wire.commands import SLOTS
from backends.redis.wire.url import Address

NOT_REDIS = "does not speak the Redis protocol"

_OF_A_CLUSTER = "is part of a cluster: redis+cluster:// is for those"


class MissingScript(BackendError):
    """The server does not know the script by its hash (NOSCRIPT): it was restarted, or is another one."""


class PartlyRefused(BackendUnavailable):
    """The server refuses writes, or a slot, for now; other calls it answers."""


class NotServed(PartlyRefused):
    """The node cannot serve the slot now: its cluster is out of order, or moves it; nothing was done."""


class NotMaster(PartlyRefused):
    """The server has become a replica: another one may be the master."""


class Redirected(BackendMisconfigured):
    """Another node of the cluster serves the key of this command; nothing was done.

    `is_asking`: for this command only, while the slot is moving there.
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
    "TRYAGAIN": (NotServed, "is moving the slot"),
    "UNBLOCKED": (BackendUnavailable, "changed its role"),
    "WRONGPASS": (BackendMisconfigured, "does not accept user and password"),
    "WRONGTYPE": (CorruptEntry, "holds something else under this name"),
}
_NO_SENTINEL = "is none: redis:// is for such a server"
_NO_ADDRESS = "redirects to an address that is none"
_NO_COUNTER = "holds something else than a counter under this name"
_BY_TEXT_OF_ERR: dict[str, tuple[type[BackendError], str]] = {
    "AUTH ": (BackendMisconfigured, "asks for no password, but was given one"),
    "DB index is out of range": (BackendMisconfigured, "has no database of this number"),
    "SELECT is not allowed in cluster mode": (BackendMisconfigured, _OF_A_CLUSTER),
    "This instance has cluster support disabled": (
        BackendMisconfigured,
        "is not part of a cluster: redis:// is for those",
    ),
    "unknown command 'SENTINEL'": (BackendMisconfigured, _NO_SENTINEL),
    "unknown command `SENTINEL`": (BackendMisconfigured, _NO_SENTINEL),
    "max number of clients reached": (BackendUnavailable, "accepts no more connections (maxclients)"),
    "increment or decrement would overflow": (CorruptEntry, _NO_COUNTER),
    "value is not an integer": (CorruptEntry, _NO_COUNTER),
}

_SLOT_AND_ADDRESS = re.compile(r"([0-9]{1,5}) (.*):([0-9]{1,5})")
_IN_A_SCRIPT = re.compile(
    r"ERR Error running script .*?(?:@user_script: ?[0-9]+: )+-?(?P<reply>.*)", re.DOTALL
)
"""Before 7.0 Redis does not begin with the word that a command inside a script was refused with."""


def error_of(reply: hiredis.ReplyError) -> BackendError:
    """The error that stands for an error reply."""
    word, rest = _parts(reply)
    if word in _BY_WORD:
        kind, condition = _BY_WORD[word]
        return kind(f"{condition} ({word})")
    if word == "ERR":
        for beginning, (kind, condition) in _BY_TEXT_OF_ERR.items():
            if rest.startswith(beginning):
                return kind(condition)
        return BackendMisconfigured(
            "does not know this command, or not in this form: Redis 6.2 or newer is needed"
        )
    return BackendMisconfigured("refuses the command")


def error_of_command(reply: hiredis.ReplyError, host: str) -> BackendError:
    """The error that stands for the reply to a command on a key, which `host` may redirect.

    A command without a key (PING, CLUSTER SLOTS) has no slot, so for those a redirection is an error like
    others: it is kept as the reason why the server cannot be used, and nothing follows it.
    """
    word, rest = _parts(reply)
    if word in ("MOVED", "ASK"):
        return _redirection(rest, host, is_asking=word == "ASK")
    return error_of(reply)


Facts = dict[bytes, bytes]
"""What INFO says, by name."""


def facts_of(info: Any) -> Facts:
    """The reply to INFO taken apart; nothing if it is none."""
    if not isinstance(info, bytes):
        return {}
    return dict(line.split(b":", 1) for line in info.splitlines() if b":" in line)


def check_done(reply: Any) -> None:
    """Raises BackendUnavailable unless a command was carried out: the reply to one is OK or a number."""
    if reply != b"OK" and type(reply) is not int:
        raise BackendUnavailable(NOT_REDIS)


def check_alive(reply: Any) -> None:
    """Raises BackendUnavailable unless this is the reply to PING."""
    if reply != b"PONG":
        raise BackendUnavailable(NOT_REDIS)


def page_of(reply: Any) -> tuple[bytes, list[bytes]]:
    """Cursor and elements of a reply to SCAN. Raises BackendUnavailable."""
    match reply:
        case [bytes(cursor), list(elements)] if all(isinstance(element, bytes) for element in elements):
            return cursor, elements
    raise BackendUnavailable(NOT_REDIS)


def _parts(reply: hiredis.ReplyError) -> tuple[str, str]:
    text = str(reply)
    inner = _IN_A_SCRIPT.match(text)
    word, _, rest = (inner["reply"] if inner else text).partition(" ")
    return word, rest


def _redirection(rest: str, host: str, *, is_asking: bool) -> BackendError:
    """`3999 127.0.0.1:6381`; a node that does not know its own name leaves the host out."""
    parts = _SLOT_AND_ADDRESS.fullmatch(rest)
    if parts is None:
        return BackendMisconfigured(_NO_ADDRESS)
    slot, port = int(parts[1]), int(parts[3])
    if slot >= SLOTS or not 0 < port < 65536:
        return BackendMisconfigured(_NO_ADDRESS)
    return Redirected(Address(parts[2] or host, port), slot, is_asking=is_asking)
