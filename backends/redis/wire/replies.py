"""Replies of Redis as the stores see them: error replies as errors of the ports, other replies checked.

Redis begins each error reply with a word in capitals. The rest may quote a key or a value, so a message of
ours repeats the word alone.
"""

import re
from typing import Any

from backends.errors import BackendError, BackendMisconfigured, BackendUnavailable, CorruptEntry, StoreFull
from backends.redis.wire.commands import SLOTS
from backends.redis.wire.resp import ErrorReply
from backends.redis.wire.url import Address

NOT_REDIS = "does not speak the Redis protocol"

_NO_COUNTER = "holds something other than a counter under this key"
_OF_A_CLUSTER = "is part of a cluster: use a redis+cluster:// URL"


class MissingScript(BackendError):
    """The server does not have the script (NOSCRIPT), perhaps after a restart; nothing was done."""

    did_nothing = True


class NotReady(BackendUnavailable):
    """The server executes no call for now; nothing was done."""

    did_nothing = True


class NoCounter(CorruptEntry):
    """The key of a window holds something else; no operation was begun."""

    did_nothing = True


class PartlyRefused(BackendUnavailable):
    """The server refuses writes, or one slot, for now; nothing was done. It serves other calls.

    A script is refused at its first write, so none is interrupted.
    """

    did_nothing = True


class NotServed(PartlyRefused):
    """The node does not serve the slot now: its cluster is down, or is moving it; nothing was done."""


class SlotMoving(NotServed):
    """The keys of the command are on two nodes; the command did nothing."""


class NotMaster(PartlyRefused):
    """The server has become a replica, so another one may be the master."""


class Redirected(BackendMisconfigured):
    """Another node of the cluster serves the key of this command; nothing was done.

    `is_asking`: only for this command, while the slot is moving there.
    """

    did_nothing = True

    def __init__(self, address: Address, slot: int, *, is_asking: bool) -> None:
        super().__init__(f"{_OF_A_CLUSTER} (MOVED)")
        self.address = address
        self.slot = slot
        self.is_asking = is_asking


_BY_WORD: dict[str, tuple[type[BackendError], str]] = {
    "ASK": (BackendMisconfigured, _OF_A_CLUSTER),
    "BUSY": (NotReady, "is busy with a long-running script"),
    "CLUSTERDOWN": (NotServed, "its cluster does not serve this slot"),
    "DENIED": (BackendMisconfigured, "runs in protected mode"),
    "LOADING": (NotReady, "is loading its data"),
    "MASTERDOWN": (NotReady, "has lost its master"),
    "MISCONF": (PartlyRefused, "cannot save its data and refuses writes"),
    "MOVED": (BackendMisconfigured, _OF_A_CLUSTER),
    "NOAUTH": (BackendMisconfigured, "requires a password"),
    "NOCOUNTER": (NoCounter, _NO_COUNTER),
    "NOPERM": (BackendMisconfigured, "denies this command to the user"),
    "NOREPLICAS": (PartlyRefused, "has too few replicas to accept writes"),
    "NOSCRIPT": (MissingScript, "does not have the script"),
    "OOM": (StoreFull, "has reached maxmemory"),
    "READONLY": (NotMaster, "is a replica and refuses writes"),
    "TRYAGAIN": (SlotMoving, "is moving the slot"),
    "UNBLOCKED": (BackendUnavailable, "changed its role"),
    "WRONGPASS": (BackendMisconfigured, "rejects user and password"),
    "WRONGTYPE": (CorruptEntry, "holds a value of another type under this key"),
}
_NO_SENTINEL = "does not run Redis Sentinel: use a redis:// URL for it"
_NO_ADDRESS = "redirects to an invalid address"
_BY_TEXT_OF_ERR: dict[str, tuple[type[BackendError], str]] = {
    "AUTH ": (BackendMisconfigured, "has no password set, but was sent one"),
    "DB index is out of range": (BackendMisconfigured, "has no database with this number"),
    "SELECT is not allowed in cluster mode": (BackendMisconfigured, _OF_A_CLUSTER),
    "This instance has cluster support disabled": (
        BackendMisconfigured,
        "is not part of a cluster: use a redis:// URL",
    ),
    "The user executing the script can't run this command": (
        BackendMisconfigured,
        "denies a command of a script to the user",
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
"""Before 7.0 Redis wraps the error reply of a command inside a script; its word is not the first."""


def error_of(reply: ErrorReply) -> BackendError:
    """Returns the error of the ports for an error reply."""
    word, rest = _parts(reply)
    if word in _BY_WORD:
        kind, condition = _BY_WORD[word]
        return kind(f"{condition} ({word})")
    if word == "ERR":
        for beginning, (kind, condition) in _BY_TEXT_OF_ERR.items():
            if rest.startswith(beginning):
                return kind(condition)
        return BackendMisconfigured(
            "does not support this command or its options: Redis 6.2 or newer is required"
        )
    return BackendMisconfigured("refuses the command")


def error_of_command(reply: ErrorReply, host: str) -> BackendError:
    """Returns the error for the reply of `host` to a command on a key, which may be a redirection.

    A command without a key (PING, CLUSTER SLOTS) has no slot. For those a redirection is an ordinary error:
    it becomes the reason why the server cannot be used, and nothing follows it.
    """
    word, rest = _parts(reply)
    if word in ("MOVED", "ASK"):
        return _redirection(rest, host, is_asking=word == "ASK")
    return error_of(reply)


Facts = dict[bytes, bytes]
"""The fields of INFO by name."""


def facts_of(info: Any) -> Facts:
    """Parses the reply to INFO; any other reply has no fields."""
    if not isinstance(info, bytes):
        return {}
    return dict(line.split(b":", 1) for line in info.splitlines() if b":" in line)


def check_done(reply: Any) -> None:
    """Raises BackendUnavailable unless this is the reply to an executed write: OK or a number."""
    if reply != b"OK" and type(reply) is not int:
        raise BackendUnavailable(NOT_REDIS)


def check_alive(reply: Any) -> None:
    """Raises BackendUnavailable unless this is the reply to PING."""
    if reply != b"PONG":
        raise BackendUnavailable(NOT_REDIS)


def page_of(reply: Any) -> tuple[bytes, list[bytes]]:
    """Returns cursor and elements of a reply to SCAN. Raises BackendUnavailable."""
    match reply:
        case [bytes(cursor), list(elements)] if all(isinstance(element, bytes) for element in elements):
            return cursor, elements
    raise BackendUnavailable(NOT_REDIS)


def _parts(reply: ErrorReply) -> tuple[str, str]:
    text = str(reply)
    inner = _IN_A_SCRIPT.match(text)
    word, _, rest = (inner["reply"] if inner else text).partition(" ")
    return word, rest


def _redirection(rest: str, host: str, *, is_asking: bool) -> BackendError:
    """Parses `3999 127.0.0.1:6381`; a node that does not know its own name leaves the host out."""
    parts = _SLOT_AND_ADDRESS.fullmatch(rest)
    if parts is None:
        return BackendMisconfigured(_NO_ADDRESS)
    slot, port = int(parts[1]), int(parts[3])
    if slot >= SLOTS or not 0 < port < 65536:
        return BackendMisconfigured(_NO_ADDRESS)
    return Redirected(Address(parts[2] or host, port), slot, is_asking=is_asking)
