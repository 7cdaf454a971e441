"""What Redis refuses, as the errors of the ports.

Redis begins each refusal with a word in capitals. Its own text may quote a key or a value,
so only the word is repeated.
"""

import hiredis

from backends.errors import BackendError, BackendMisconfigured, BackendUnavailable, CorruptEntry, StoreFull
from backends.redis.url import Address


class MissingScript(BackendError):
    """The server does not know the script by its hash (NOSCRIPT): it was restarted, or is another one."""


class Redirected(BackendMisconfigured):
    """Another node of the cluster serves the key; nothing was done.

    `is_asking`: for this command only, while the slot is on its way there.
    """

    def __init__(self, address: Address, slot: int, *, is_asking: bool) -> None:
        super().__init__("the server is part of a cluster: redis+cluster:// is for those (MOVED)")
        self.address = address
        self.slot = slot
        self.is_asking = is_asking


_UNAVAILABLE = {
    "BUSY": "runs a script that does not end",
    "CLUSTERDOWN": "its cluster does not serve this slot",
    "LOADING": "is loading its data",
    "MASTERDOWN": "has lost its master",
    "MISCONF": "cannot save its data and refuses writes",
    "NOREPLICAS": "has too few replicas to accept writes",
    "READONLY": "is a replica and refuses writes",
    "TRYAGAIN": "is moving the slot",
    "UNBLOCKED": "changed its role",
}
_MISCONFIGURED = {
    "DENIED": "runs in protected mode",
    "ERR": "does not know this command, or not in this form: Redis 6.2 or newer is needed",
    "NOAUTH": "asks for a password",
    "NOPERM": "does not permit this to the user",
    "WRONGPASS": "does not accept user and password",
}


def fault_of(refusal: hiredis.ReplyError, asked: str) -> BackendError:
    """The error that stands for a refusal. `asked` is the host that gave it."""
    word, _, rest = str(refusal).partition(" ")
    if word in _UNAVAILABLE:
        return BackendUnavailable(f"{_UNAVAILABLE[word]} ({word})")
    if word in _MISCONFIGURED:
        return BackendMisconfigured(f"{_MISCONFIGURED[word]} ({word})")
    match word:
        case "NOSCRIPT":
            return MissingScript("does not know the script (NOSCRIPT)")
        case "OOM":
            return StoreFull("has reached maxmemory (OOM)")
        case "WRONGTYPE":
            return CorruptEntry("holds something else under this name (WRONGTYPE)")
        case "MOVED" | "ASK":
            return _redirection(rest, asked, is_asking=word == "ASK")
    return BackendMisconfigured("refuses the command")


def _redirection(rest: str, asked: str, *, is_asking: bool) -> BackendError:
    """`3999 127.0.0.1:6381`; a node that does not know its own name leaves the host out."""
    slot, _, place = rest.partition(" ")
    host, _, port = place.rpartition(":")
    if not (slot.isdecimal() and port.isdecimal()):
        return BackendMisconfigured("redirects to nowhere")
    return Redirected(Address(host or asked, int(port)), int(slot), is_asking=is_asking)
