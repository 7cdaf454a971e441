"""The bare handler and the gateway on each of its stores, as processes."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct

from benchmarks.processes import (
    GENERATOR_CORE,
    SERVER_CORE,
    Server,
    accepts,
    answers_http,
    free_port,
    running,
)
from benchmarks.signed import REGION, gateway_config

Store = dict[str, Any]

ON_MEMORY: Store = {"kind": "memory"}
AWS = {"AWS_ACCESS_KEY_ID": "AKIDBENCH", "AWS_SECRET_ACCESS_KEY": "bench-secret-access-key"}

_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_START_SECONDS = 120.0  # 100,000 declared apps are read within it


def on_redis(port: int) -> Store:
    """The store of this Redis."""
    return {"kind": "redis", "url": f"redis://127.0.0.1:{port}/0"}


@contextmanager
def bare() -> Iterator[Server]:
    """The bare handler."""
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.bare", str(port)]
    with running(command, SERVER_CORE, lambda: answers_http(f"http://127.0.0.1:{port}/")) as process:
        yield Server(port, (process,))


class ConfigFile(Struct, frozen=True):
    """A configuration, and the ports in it."""

    path: Path
    port: int
    ops_port: int
    control_port: int


def write_config(folder: Path, store: Store, *, port: int | None = None, **sections: Any) -> ConfigFile:
    """The gateway with everything on; `sections` replace those of its configuration."""
    port, ops_port, control_port = port or free_port(), free_port(), free_port()
    config = {**gateway_config(port, ops_port, store), **sections}
    config["listen"]["control"]["port"] = control_port
    path = folder / f"gateway-{ops_port}.yaml"
    path.write_text(yaml.dump(config, Dumper=_DUMPER))
    return ConfigFile(path, port, ops_port, control_port)


@contextmanager
def running_file(config: ConfigFile, environ: Mapping[str, str] | None = None) -> Iterator[Server]:
    """The gateway with this configuration."""
    command = [sys.executable, "-m", "gateway", "serve", "--config", str(config.path)]
    with running(
        command,
        SERVER_CORE,
        lambda: answers_http(f"http://127.0.0.1:{config.ops_port}/readyz"),
        environ=environ,
        patience_seconds=_START_SECONDS,
    ) as process:
        yield Server(config.port, (process,))


@contextmanager
def running_gateway(
    folder: Path, store: Store, environ: Mapping[str, str] | None = None, *, port: int | None = None
) -> Iterator[Server]:
    """The gateway with everything on, on one of its stores; on a `port` that is given it may have company."""
    config = write_config(folder, store, port=port)
    with running_file(config, environ) as server:
        yield server


def on_dynamodb(port: int) -> Store:
    """A table at the endpoint on this port."""
    endpoint_url = f"http://127.0.0.1:{port}"
    return {
        "kind": "dynamodb",
        "table": "kvs",
        "region": REGION,
        "endpoint_url": endpoint_url,
        "create_table": True,
    }


@contextmanager
def on_canned_dynamodb(folder: Path) -> Iterator[Server]:
    """Against an endpoint that answers each action the same at once."""
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.canned", str(port)]
    with (
        running(command, GENERATOR_CORE, lambda: accepts(port)),
        running_gateway(folder, on_dynamodb(port), AWS) as server,
    ):
        yield server


@contextmanager
def on_emulated_dynamodb(folder: Path) -> Iterator[Server]:
    """Against an emulator, which is slower than the gateway by far."""
    with running_emulator(folder) as port, running_gateway(folder, on_dynamodb(port), AWS) as server:
        yield server


@contextmanager
def running_emulator(folder: Path) -> Iterator[int]:
    """An emulator of DynamoDB; its port."""
    port = free_port()
    environ = {
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(port),
        "SERVICES": "dynamodb",
        "MINISTACK_REGION": REGION,
        "LOG_LEVEL": "WARNING",
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        "DOCKER_HOST": f"unix://{folder}/no-docker",
    }
    command = [sys.executable, "-m", "ministack"]
    with running(command, GENERATOR_CORE, lambda: accepts(port), environ=environ, patience_seconds=60):
        yield port
