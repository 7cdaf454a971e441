"""The composition root: the module that chooses the parts of a replica and wires them together.

    stores ── directory ──┬── data plane          put, get and delete
                          ├── control plane       apps, tables and credentials
                          ├── credentials plane   session credentials for workloads
                          └── ops plane           probes and metrics

`gateway.composition` builds each part from the settings.
"""

from msgspec import Struct

from backends import open_backend
from backends.clock import Clock, SystemClock
from gateway.composition.control import ControlPlane
from gateway.composition.credentials import CredentialsPlane
from gateway.composition.data import DataPlane
from gateway.composition.directory import ConfiguredDirectory
from gateway.composition.ops import OpsPlane
from gateway.composition.shared import Certificates, open_shared
from gateway.config.settings import Settings
from gateway.directory.parts import DirectoryParts
from gateway.http.turns import Turns
from gateway.replica.background import (
    beating,
    directory_chores,
    dropping_idle_rows,
    fetching_keys,
    health_checks,
)
from gateway.replica.drain import Drain
from gateway.replica.reload import Reload
from gateway.replica.run import Replica
from gateway.replica.stores import OpenStore, Stores


class App(Struct, frozen=True):
    """A wired replica that does not run yet, with its parts."""

    replica: Replica
    data: DataPlane
    control: ControlPlane
    credentials: CredentialsPlane
    ops: OpsPlane
    directory: DirectoryParts
    stores: Stores
    reload: Reload
    drain: Drain
    turns: Turns


async def build_app(
    settings: Settings, clock: Clock | None = None, open_store: OpenStore = open_backend
) -> App:
    """Wires a replica. Nothing listens yet, and no store needs to be reachable."""
    shared, resources = await open_shared(settings, clock or SystemClock(), open_store)
    directory, certificates = ConfiguredDirectory(shared), Certificates(settings.listen)
    data = DataPlane(shared, directory.parts.bindings)
    ops = OpsPlane(shared, data.usage, directory.parts.sweeper)
    control = ControlPlane(shared, directory.parts, lambda: ops.describe_health() | reload.describe())
    credentials = CredentialsPlane(shared)
    reload = Reload(
        settings,
        [data, control, directory, credentials, certificates],
        shared.stores,
        metrics=shared.metrics,
        clock=shared.clock,
    )
    services = {
        "ops": ops.service,
        "control": control.service,
        "credentials": credentials.service,
        "data": data.service,
    }
    replica = Replica(
        settings.listen,
        {name: service for name, service in services.items() if name in settings.listen.named},
        certificates.shown,
        shared.drain,
        background=[
            beating(shared.fence),
            health_checks(ops.health),
            *directory_chores(directory.parts),
            dropping_idle_rows(data.usage, settings.metering.idle_seconds),
            fetching_keys(shared.issuers),
        ],
        resources=resources,
    )
    return App(
        replica,
        data,
        control,
        credentials,
        ops,
        directory.parts,
        shared.stores,
        reload,
        shared.drain,
        shared.turns,
    )
