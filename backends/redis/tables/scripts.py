"""The scripts of layout 2, composed of the files in `lua`.

A step of one operation has a script of its own: Redis builds all functions of a script at each call, and
those of the other operations would cost as much as the operation.
"""

from collections.abc import Sequence
from importlib.resources import files

from backends.redis.topology.interface import SlotScript
from backends.tables import (
    AddToEntry,
    DeleteEntry,
    EntryOperation,
    GetEntry,
    ListEntries,
    PutEntry,
    TouchEntry,
)


def _composed(*names: str) -> SlotScript:
    folder = files(__package__).joinpath("lua")
    return SlotScript("\n".join(folder.joinpath(f"{name}.lua").read_text("ascii") for name in names))


SWEEP = _composed("sweep")
COUNT = _composed("count")
DROP = _composed("drop")

_CHARGE_ONLY = _composed("charge", "run")
_ANY = _composed(
    "charge", "live", "conditions", "sizes", "write",
    "get", "put", "delete", "touch", "add", "list", "run",
)  # fmt: skip
_SINGLE: dict[type[EntryOperation], SlotScript] = {
    GetEntry: _composed("charge", "live", "get", "run"),
    PutEntry: _composed("charge", "live", "conditions", "sizes", "write", "put", "run"),
    DeleteEntry: _composed("charge", "live", "conditions", "sizes", "delete", "run"),
    TouchEntry: _composed("charge", "live", "conditions", "sizes", "write", "touch", "run"),
    AddToEntry: _composed("charge", "live", "sizes", "write", "add", "run"),
    ListEntries: _composed("charge", "live", "list", "run"),
}


def script_for(operations: Sequence[EntryOperation]) -> SlotScript:
    """Returns the script of a step."""
    if len(operations) == 1:
        return _SINGLE[type(operations[0])]
    return _ANY if operations else _CHARGE_ONLY
