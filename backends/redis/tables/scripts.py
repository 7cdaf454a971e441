"""The scripts of layout 2, composed of the files in `lua`.

The usual steps, a get or a put, have scripts of their own with the fewest keys, arguments and functions: each
costs Redis about 0.1 us per call.
"""

from importlib.resources import files

from backends.redis.topology.interface import SlotScript


def _text(name: str) -> str:
    return files(__package__).joinpath("lua", f"{name}.lua").read_text("ascii")


def _composed(*names: str) -> SlotScript:
    return SlotScript("\n".join(map(_text, names)))


class Scripts:
    """The scripts of steps; those with a `prelude` begin with it, which may need all keys."""

    def __init__(self, *prelude: str) -> None:
        self._prelude = prelude
        write = ("keys", "live", "conditions", "write", "put")
        self.get_needs_all_keys = bool(prelude)
        self.get = self._step("live", "get_only", has_all_keys=self.get_needs_all_keys)
        self.put = self._step(*write, "put_only")
        self.any = self._step(*write, "get", "delete", "touch", "add", "list", "any")

    def _step(self, *names: str, has_all_keys: bool = True) -> SlotScript:
        counts = "5, 2" if has_all_keys else "1, 0"
        parts = map(_text, (*self._prelude, "charge", *names))
        return SlotScript("\n".join([f"local table_keys, constants = {counts}", *parts]))


SCRIPTS = Scripts()
MARKED_SCRIPTS = Scripts("marked")
"""Scripts for tables that version 0.2 may have created: they refuse unless the entries are in layout 2."""

SETTLE = _composed("settling", "live", "write", "settle")
SWEEP = _composed("sweep")
COUNT = _composed("count")
DROP = _composed("drop")
