"""A driver: a program with one client that executes commands in lines of JSON (`clients/scenarios.yaml`)."""

import asyncio
import itertools
import json
import os
import subprocess
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any, Self

from tests.support.stopwatch import PATIENCE_SECONDS


class Driver:
    """One process, for any number of event loops. Use as a context manager."""

    def __init__(self, command: Sequence[str], folder: str) -> None:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": folder,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "HTTP_PROXY": "http://127.0.0.1:1",  # no client may use it: nothing listens there
            "http_proxy": "http://127.0.0.1:1",
        }
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )
        self._ids = itertools.count(1)
        self._waiting: dict[int, Future[dict[str, Any]]] = {}
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stdin.close()
        try:
            assert self._process.wait(PATIENCE_SECONDS) == 0
        finally:
            self._process.kill()
            self._process.wait()
            self._reading.join()
            self._process.stdout.close()

    def begin(self, op: str, **fields: Any) -> tuple[int, asyncio.Future[dict[str, Any]]]:
        """Sends a command; returns its number and a future of the answer."""
        number = next(self._ids)
        waiting = self._waiting[number] = Future()
        self._process.stdin.write(json.dumps({"id": number, "op": op, **fields}).encode() + b"\n")
        self._process.stdin.flush()
        return number, asyncio.wrap_future(waiting)

    async def do(self, op: str, **fields: Any) -> dict[str, Any]:
        _, answer = self.begin(op, **fields)
        return await answer

    def _read(self) -> None:
        for line in self._process.stdout:
            answer = json.loads(line)
            self._waiting.pop(answer["id"]).set_result(answer)
        for each in self._waiting.values():
            each.set_exception(AssertionError("the driver ended"))
