"""Runs scripts of the guide, as somebody would paste them, beside a `deploy` folder."""

import os
import shlex
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

SECONDS = 300.0


class Shell:
    """`shell(script)` is what it prints. What a script leaves in the background is ended."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._programs = folder / "bin"
        self._programs.mkdir()
        path = f"{self._programs}:{os.environ['PATH']}"
        self._environment = {**os.environ, "PATH": path, "HOME": str(folder)}

    def offer(self, name: str, *command: str) -> None:
        """A program by this name, which continues a command."""
        program = self._programs / name
        program.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
        program.chmod(0o755)

    def __call__(self, script: str, until: str | None = None) -> str:
        """With `until` the script is one that never ends, and is ended when it has printed that.

        Raises AssertionError with its errors if it fails.
        """
        printed, errors = self.folder / "printed", self.folder / "errors"
        with printed.open("wb") as out, errors.open("wb") as err:
            process = subprocess.Popen(
                ["/bin/sh", "-euc", script],
                cwd=self.folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
            try:
                deadline = time.monotonic() + SECONDS
                while process.poll() is None and not (until and until in printed.read_text()):
                    assert time.monotonic() < deadline, script
                    time.sleep(0.05)
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGTERM)
                process.wait()
        assert process.returncode == 0 or (until and until in printed.read_text()), errors.read_text()
        return printed.read_text()
