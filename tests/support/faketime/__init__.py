"""Wall clocks that jump while a process runs; what is monotonic stays as it is."""

import sys
from pathlib import Path

import pytest

from backends.clock import SystemClock

_INSTALLED = Path(sys.prefix, "lib", "libfaketime.so.1")
_MACHINES = "*/faketime/libfaketime.so.1"


def library_or_skip() -> str:
    """The one that `make faketime` installed, or the machine's own."""
    for found in (_INSTALLED, *Path("/usr/lib").glob(_MACHINES)):
        if found.exists():
            return str(found)
    pytest.skip("there is no libfaketime: `make faketime` installs it where there is a Debian package")


class WallClock:
    """`environment` is that of processes whose wall clock it sets; `clock` shows what it shows."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "faketime"
        self.clock = _Shifted()
        self.jump(0)

    @property
    def environment(self) -> dict[str, str]:
        return {
            "LD_PRELOAD": library_or_skip(),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }

    def jump(self, seconds: float) -> None:
        """The wall clock leads the true one by so much from now on."""
        fresh = self._file.with_suffix(".new")
        fresh.write_text(f"{seconds:+.3f}\n")
        fresh.replace(self._file)
        self.clock.lead_ms = round(seconds * 1000)


class _Shifted(SystemClock):
    lead_ms = 0

    def wall_ms(self) -> int:
        return super().wall_ms() + self.lead_ms
