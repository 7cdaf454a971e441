"""A gateway in a process of its own, as operators run it: configuration in a file, ended by signals."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import yaml

from tests.support.audit import check_audit_lines_in
from tests.support.evidence import note_fault
from tests.support.servers import wait_for
from tests.support.stopwatch import PATIENCE_SECONDS, Stopwatch

PATIENT = "tests.support.patient_gateway"
"""The module of a gateway whose calls of Redis have long deadlines."""


class GatewayProcess:
    """`kvs-gateway serve`; use as a context manager. Standard error is kept in `log`.

    `launcher` is a command that runs the one behind it; `module` is what is run, with the same arguments.
    """

    def __init__(
        self,
        config: dict[str, Any] | Path,
        folder: Path,
        env: dict[str, str] | None = None,
        launcher: Sequence[str] = (),
        module: str = "gateway",
    ) -> None:
        if isinstance(config, Path):
            file = config
        else:
            file = folder / "config.yaml"
            file.write_text(yaml.safe_dump(config))
        self.log = folder / "gateway.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*launcher, sys.executable, "-m", module, "serve", "--config", str(file)],
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, **(env or {})},
                text=True,
            )
        line = self.process.stdout.readline()
        assert line, self.log.read_text()
        self.printed: dict[str, Any] = json.loads(line)
        self.urls: dict[str, str] = self.printed["listening"]

    def signal(self, number: signal.Signals = signal.SIGTERM) -> None:
        note_fault(f"gateway {number.name}")
        self.process.send_signal(number)

    def kill(self) -> None:
        """SIGKILL: nothing is finished, nothing is said."""
        note_fault("gateway killed")
        self.process.kill()

    def wait(self, seconds: float = PATIENCE_SECONDS) -> int:
        return self.process.wait(seconds)

    def seconds_until_end(self) -> float:
        """Waits for the end; without the seconds that it, or the test, waited for a processor."""
        watch = Stopwatch(self.process.pid)
        pid = self.process.pid
        wait_for(lambda: os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT), "it does not end")
        return watch.seconds

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: type[BaseException] | None = None, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        if error is None:
            check_audit_lines_in(self.log)
