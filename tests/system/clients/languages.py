"""The drivers of the clients, their commands and required programs. `make clients` builds them."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.repository import ROOT

LONGEST_SECONDS = 900
"""For commands of half a minute, on a busy machine."""

BUILT = Path(sys.prefix) / "clients"
CLIENTS = ROOT / "clients"


@dataclass(frozen=True)
class Language:
    """A client with its driver; `needs` are programs that may be missing on a machine."""

    name: str
    command: tuple[str, ...]
    needs: tuple[str, ...] = ()
    cancels: bool = True

    def demand_programs(self) -> None:
        """Skips the test if a program is missing; fails under CI."""
        for program in self.needs:
            if shutil.which(program) is None:
                word = f"{program} is not installed: the client for {self.name} is not tested"
                if os.environ.get("CI"):
                    pytest.fail(word)
                pytest.skip(word)

    def demand(self) -> None:
        """Skips the test if a program is missing; fails if `make clients` has not built the driver."""
        self.demand_programs()
        missing = [part for part in self.command if part.startswith("/") and not Path(part).exists()]
        if missing:
            pytest.fail(f"{missing[0]} does not exist: run make clients")


PYTHON = str(BUILT / "python/bin/python")
_PYTHON = (PYTHON, str(CLIENTS / "python/tests/driver.py"))

LANGUAGES = [
    Language("python-async", (*_PYTHON, "async")),
    Language("python-sync", (*_PYTHON, "sync"), cancels=False),
    Language("javascript", ("node", str(CLIENTS / "javascript/test/driver.js")), needs=("node", "npm")),
    Language("go", (str(BUILT / "go/driver"),), needs=("go",)),
]


def language(name: str) -> Language:
    """Returns the language of this name."""
    return next(each for each in LANGUAGES if each.name == name)


def run(*command: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a program that must succeed, with this gateway for its tests and a clean environment."""
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("SERVICE_", "AWS_"))
    }
    done = subprocess.run(
        command,
        cwd=folder,
        env={**inherited, "KVS_GATEWAY_COMMAND": f"{sys.executable} -m gateway", **variables},
        capture_output=True,
        text=True,
        timeout=LONGEST_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr
    return done
