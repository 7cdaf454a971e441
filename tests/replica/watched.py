"""A running replica, its configuration file, and the reloader between them."""

from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from gateway.config.loading import ConfigurationFile
from gateway.replica.reload import Reloader
from tests.support.config import BASE, merged
from tests.support.gateway import Gateway, run_gateway


class Watched:
    """`gateway` runs on what was in `path` at first."""

    def __init__(self, path: Path, gateway: Gateway) -> None:
        self.path, self.gateway = path, gateway
        file = ConfigurationFile(path, {})
        file.load()
        app = gateway.app
        self.reloader = Reloader(file, app.renewal, gateway.replica.certificate, app.metrics, gateway.clock)

    async def reload(self, **changes: Any) -> None:
        """Write the base configuration with these changes, and have it read."""
        write(self.path, changes)
        await self.reloader.reload()

    async def reload_text(self, text: str) -> None:
        self.path.write_text(text)
        await self.reloader.reload()


def write(path: Path, changes: dict[str, Any]) -> None:
    path.write_text(yaml.safe_dump(merged(BASE, changes)))


@asynccontextmanager
async def watching(folder: Path, **changes: Any):
    path = folder / "config.yaml"
    write(path, changes)
    async with run_gateway(changes) as gateway:
        yield Watched(path, gateway)
