"""One real gateway without sockets: built, served, drained and crashed inside a simulation."""

from msgspec.structs import replace

from gateway.app import App, build_app
from gateway.config.settings import Settings
from gateway.http.connection import Connection
from gateway.http.listener import Listener
from gateway.http.service import Service
from lab.simulation.network import Network
from lab.simulation.remote import RemoteBackend
from lab.simulation.store import SimulatedClock
from lab.simulation.wire import ServerEnd


class _NoSockets:
    """The listener, as the gateway sees it."""

    def __init__(self) -> None:
        self.sockets: list[object] = []
        self.is_open = True

    def close(self) -> None:
        self.is_open = False


class SimulatedReplica:
    """Built by `start`. `charged` counts answers to charged calls, `uncertain` those that nobody awaited."""

    def __init__(self, app: App, settings: Settings, clock: SimulatedClock, network: Network) -> None:
        self._settings = settings
        self.app, self.clock, self.network = app, clock, network
        self.charged = 0
        self.uncertain = 0
        self.has_crashed = False
        self.is_draining = False
        self._accepting = _NoSockets()
        self._listener = Listener(app.data.service, self._accepting, None, shares_port=False)
        self._ends: list[ServerEnd] = []
        self._background = [start() for start in app.replica._background]

    @classmethod
    async def start(
        cls,
        settings: Settings,
        clock: SimulatedClock,
        network: Network,
        backend: RemoteBackend | None = None,
    ) -> "SimulatedReplica":
        async def open_store(*_: object) -> RemoteBackend:
            return backend or RemoteBackend(network)

        return cls(await build_app(settings, clock, open_store), settings, clock, network)

    @property
    def metered(self) -> int:
        return sum(row.requests for row in self.app.data.usage.rows())

    @property
    def takes_connections(self) -> bool:
        return self._accepting.is_open and not self.has_crashed

    def connect(self) -> ServerEnd:
        if not self.takes_connections:
            raise ConnectionRefusedError
        return self._connect_to(self.app.data.service)

    def connect_to_control(self) -> ServerEnd:
        return self._connect_to(self.app.control.service)

    def reload(self, settings: Settings | None = None) -> None:
        """Reloads everything that can be reloaded, even from an unchanged file."""
        self._settings = settings or self._settings
        prepared = self.app.reload.prepare(replace(self._settings, apps=list(self._settings.apps)))
        prepared.apply()
        prepared.release()

    async def drain(self) -> None:
        """Drains, as after SIGTERM."""
        self.is_draining = True
        await self.app.drain.run(self._listener.stop_listening)
        await self._listener.close()
        await self._end_background()

    async def crash(self) -> None:
        """Stops everything; only messages on their way to the store may arrive."""
        self.has_crashed = True
        self.network.is_cut = True
        for end in self._ends:
            end.cut()
        await self._end_background()

    def _connect_to(self, service: Service) -> ServerEnd:
        end = ServerEnd(Connection(service))
        self._ends.append(end)
        return end

    async def _end_background(self) -> None:
        for background in self._background:
            await background.close()
