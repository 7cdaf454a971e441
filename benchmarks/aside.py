"""Programs beside a gateway that runs in this process: on the other core, so that they do not hold it up."""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import msgspec

from benchmarks.beside import Calls
from benchmarks.processes import GENERATOR_CORE, pin
from benchmarks.signed import CONTROL_TOKEN
from gateway.app import App

_NICE = 10
_STARTING_SECONDS = 2.0

RunProgram = Callable[..., Awaitable[None]]


@asynccontextmanager
async def running_programs() -> AsyncIterator[RunProgram]:
    """What runs a program of Python to its end, and raises RuntimeError if it fails."""
    environ = {**os.environ, "KVS_CONTROL_TOKEN": CONTROL_TOKEN}
    async with _started("benchmarks.spawner", behind=_NICE, environ=environ) as spawner:

        async def run(*words: str) -> None:
            assert spawner.stdin
            assert spawner.stdout
            spawner.stdin.write(msgspec.json.encode(words) + b"\n")
            if (await spawner.stdout.readline()).strip() != b"0":
                raise RuntimeError(f"{words} failed")

        yield run


@asynccontextmanager
async def calling(app: App) -> AsyncIterator[Callable[[], Awaitable[Calls]]]:
    """Calls of the data plane go on until the block asks for them."""
    port = app.replica.urls["data"].rpartition(":")[2]
    async with _started("benchmarks.beside", port) as caller:

        async def finish() -> Calls:
            output, _ = await caller.communicate(b"")
            return msgspec.json.decode(output, type=Calls)

        await asyncio.sleep(_STARTING_SECONDS)
        yield finish


@asynccontextmanager
async def _started(
    module: str, *arguments: str, behind: int = 0, environ: dict[str, str] | None = None
) -> AsyncIterator[Process]:
    """A module of this package; `behind` makes it nice to the store, which has the same core."""

    def place() -> None:
        pin(GENERATOR_CORE)()
        os.nice(behind)

    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, *arguments, stdin=PIPE, stdout=PIPE, env=environ, preexec_fn=place
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
