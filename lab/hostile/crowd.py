"""A crowd of hostile clients, in a process of its own so that it takes no time from the good ones."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from dataclasses import asdict, dataclass
from typing import Any, Self
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Behaviour:
    """First bytes of each client, repeated bytes (latin-1), and whether it reads."""

    opening: str = ""
    drip: str = ""
    reads: bool = True
    pace_seconds: float = 0.008
    """Between every ten that connect."""


IDLE = Behaviour()


@dataclass(frozen=True)
class End:
    """End of the clients by the server: the longest time it took, and the different answers."""

    longest_seconds: float
    statuses: list[str]
    bodies: list[str]


class Crowd:
    """So many clients, all connected when the block begins; they never close by themselves."""

    def __init__(self, url: str, size: int, behaviour: Behaviour = IDLE) -> None:
        address = urlsplit(url)
        self._orders = {
            "host": address.hostname,
            "port": address.port,
            "size": size,
            **asdict(behaviour),
        }
        self._process: Process
        self.connect_seconds = 0.0

    async def end(self, within_seconds: float) -> End:
        """Wait until the server has closed them all."""
        return End(**await self._report(within_seconds))

    async def __aenter__(self) -> Self:
        command = [sys.executable, "-m", "lab.hostile.members"]
        self._process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE)
        self._process.stdin.write(json.dumps(self._orders).encode() + b"\n")
        self.connect_seconds = (await self._report(30))["connect_seconds"]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._process.returncode is None:
            self._process.kill()
        await self._process.communicate()

    async def _report(self, within_seconds: float) -> Any:
        async with asyncio.timeout(within_seconds):
            line = await self._process.stdout.readline()
        assert line, "the crowd has ended early"
        return json.loads(line)
