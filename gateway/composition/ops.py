"""Composes the ops plane."""

from gateway.composition.shared import Shared
from gateway.config.hosts import accepted_hosts
from gateway.directory.reclaim.sweeper import Sweeper
from gateway.http.messages import Handler, Request, Response
from gateway.http.service import Service
from gateway.http.turns import Turns
from gateway.observability import catalogue
from gateway.observability.usage import Usage
from gateway.opsplane.exposition import Exposition
from gateway.opsplane.handler import PROBES, OpsHandler
from gateway.opsplane.health import Health


class OpsPlane:
    """Probes and metrics."""

    def __init__(self, shared: Shared, usage: Usage, sweeper: Sweeper) -> None:
        metrics, drain, is_strict = shared.metrics, shared.drain, shared.settings.readiness == "strict"
        # As many series at most as of usage, three for each app.
        max_apps = shared.settings.metering.max_series // 3
        exposition = Exposition(usage, metrics, lambda: sweeper.used, max_apps)
        self.health = Health(shared.stores.dependencies, strict=is_strict, is_draining=drain.begun.is_set)
        hosts = accepted_hosts(shared.settings.listen.ops, "listen.ops.hosts")
        self.handler = OpsHandler(self.health, exposition, hosts, drain.begin_scrape)
        self.service = Service(
            in_two_lanes(self.handler, shared.turns),
            shared.edge,
            shared.clock,
            handshakes=shared.turns.handshakes,
        )
        metrics.watch(catalogue.DRAINING, drain.begun.is_set)
        metrics.watch_labelled(catalogue.DEPENDENCY_UP, self.health.dependencies)
        metrics.watch_all(catalogue.DEPENDENCY_WARNING, self.health.warning_levels)
        metrics.watch_labelled(catalogue.CLOCK_SKEW, self.health.clock_leads)
        # The start of serving, not of the process. It lies between the last scrape of the previous process
        # and the first one of this process, so `kvs-gateway usage` can assign each sample to its process.
        started_seconds = shared.clock.wall_ms() / 1000
        metrics.watch(catalogue.START_TIME, lambda: started_seconds)

    def describe_health(self) -> dict[str, object]:
        """Describes the state of the replica and its dependencies, and how far their clocks are ahead."""
        return {**self.health.describe(), "clock_skew_seconds": self.health.clock_leads()}


def in_two_lanes(handler: OpsHandler, turns: Turns) -> Handler:
    """Paces a handler. Probes have a lane that refuses none, so scrapes cannot make a replica restart."""
    probes = turns.lane(max_requests=None).paced(handler.handle)
    others = turns.lane().paced(handler.handle)

    async def handle(request: Request) -> Response:
        return await (probes if request.path in PROBES else others)(request)

    return handle
