"""The parts that all planes use: stores, clocks, metrics, the keys of issuers, and certificates."""

from msgspec import Struct

from backends.clock import Clock
from gateway.config.certificates import ShownCertificate
from gateway.config.settings import EdgeSettings, ListenSettings, Settings
from gateway.http.fence import Fence
from gateway.http.turns import Turns
from gateway.identity.issuers import Issuers
from gateway.observability import catalogue
from gateway.observability.metrics import ServiceMetrics
from gateway.observability.stores import StoreTimes
from gateway.observability.tracing.opening import Traces, open_tracing
from gateway.replica.background import fetch_keys
from gateway.replica.drain import Drain
from gateway.replica.reload import Prepared
from gateway.replica.run import Resource, within_limits
from gateway.replica.stores import OpenStore, Stores, open_stores

_SCRAPE_SECONDS = 60
"""The default scrape interval. A new replica is discovered in the first one and scraped in the second."""


class Shared(Struct, frozen=True):
    """The parts. `edge` has the settings' `max_connections`, reduced if the limit of open files is lower."""

    settings: Settings
    edge: EdgeSettings
    clock: Clock
    metrics: ServiceMetrics
    traces: Traces | None
    stores: Stores
    drain: Drain
    issuers: Issuers
    turns: Turns
    fence: Fence


async def open_shared(
    settings: Settings, clock: Clock, open_store: OpenStore
) -> tuple[Shared, list[Resource]]:
    """Opens the shared parts. Returns them, and the resources to close when the replica ends."""
    metrics = ServiceMetrics()
    drain = Drain(
        settings.shutdown,
        first_scrape_ms=2 * milliseconds(max(settings.metering.first_sample_seconds, _SCRAPE_SECONDS)),
        now_ms=clock.monotonic_ms,
    )
    traces = open_tracing(settings.tracing, metrics)
    optional = [] if traces is None else [traces]
    stores = await open_stores(settings, clock, [StoreTimes(metrics), *optional], open_store)
    issuers = Issuers(fetch_keys, clock)
    metrics.watch_labelled(catalogue.ISSUER_KEYS_AGE, issuers.ages_seconds)
    metrics.watch_all(catalogue.ISSUER_FETCHES, issuers.fetches)
    turns = Turns(clock.monotonic_ms, is_busy=lambda: bool(drain.calls))
    edge, fence = within_limits(settings.edge), Fence(clock.boot_seconds)
    shared = Shared(settings, edge, clock, metrics, traces, stores, drain, issuers, turns, fence)
    return shared, [*stores.backends, *optional, issuers]


class Certificates:
    """Certificates by listener, in `shown`. A reload reads their files again; other files need a restart."""

    def __init__(self, listen: ListenSettings) -> None:
        self.shown = {name: ShownCertificate(tls, f"listen.{name}.tls") for name, tls in listen.tls.items()}

    def prepare(self, _: Settings) -> Prepared:
        """Reads the current files. Raises UnusableCertificate."""
        read = [(shown, shown.read()) for shown in self.shown.values()]

        def apply() -> None:
            for shown, context in read:
                shown.show(context)

        return Prepared(apply)


def milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
