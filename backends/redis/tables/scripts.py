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
SETTLE = _composed("settling", "live", "sizes", "write", "settle")


class Scripts:
    """The scripts of steps; those with a `prelude` begin with it."""

    def __init__(self, *prelude: str) -> None:
        begin = (*prelude, "charge")
        whole = ("live", "conditions", "sizes", "write")
        self._charge_only = _composed(*begin, "run")
        self._any = _composed(*begin, *whole, "get", "put", "delete", "touch", "add", "list", "run")
        self._single: dict[type[EntryOperation], SlotScript] = {
            GetEntry: _composed(*begin, "live", "get", "run"),
            PutEntry: _composed(*begin, *whole, "put", "run"),
            DeleteEntry: _composed(*begin, "live", "conditions", "sizes", "delete", "run"),
            TouchEntry: _composed(*begin, *whole, "touch", "run"),
            AddToEntry: _composed(*begin, "live", "sizes", "write", "add", "run"),
            ListEntries: _composed(*begin, "live", "list", "run"),
        }

    def of(self, operations: Sequence[EntryOperation]) -> SlotScript:
        """Returns the script of a step."""
        if len(operations) == 1:
            return self._single[type(operations[0])]
        return self._any if operations else self._charge_only


SCRIPTS = Scripts()
MARKED_SCRIPTS = Scripts("marked")
"""Scripts for tables that version 0.2 may have created: they refuse unless the entries are in layout 2."""
