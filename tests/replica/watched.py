"""A running replica, and its configuration file."""

from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from gateway.config.loading import ConfigurationFile
from tests.support.config import BASE, merged
from tests.support.gateway import Gateway, run_gateway


class Watched:
    """`gateway` runs on what was in `path` at first."""

    def __init__(self, path: Path, gateway: Gateway) -> None:
        self.path, self.gateway = path, gateway
        self.file = ConfigurationFile(path, {})
        self.file.load()

    async def reload(self, **changes: Any) -> None:
        """Write the base configuration with these changes, and have it read."""
        write(self.path, changes)
        await self.read_again()

    async def reload_text(self, text: str) -> None:
        self.path.write_text(text)
        await self.read_again()

    async def read_again(self) -> None:
        await self.gateway.app.reload.run(self.file)


def write(path: Path, changes: dict[str, Any]) -> None:
    path.write_text(yaml.safe_dump(merged(BASE, changes)))


@asynccontextmanager
async def watching(folder: Path, **changes: Any):
    path = folder / "config.yaml"
    write(path, changes)
    async with run_gateway(changes) as gateway:
        yield Watched(path, gateway)
