"""The store on DynamoDB, wired from its settings."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import urlsplit

from backends.backend import AdapterSettings, StoreWarning
from backends.background import Background
from backends.breaker import Breaker
from backends.clock import Clock
from backends.dynamodb.client import Client
from backends.dynamodb.counters import DynamoWindowCounter
from backends.dynamodb.credentials import FreshCredentials
from backends.dynamodb.failures import Action
from backends.dynamodb.items import window_key
from backends.dynamodb.records import DynamoRecordStore
from backends.dynamodb.settings import DynamoSettings
from backends.dynamodb.store_time import StoreTime
from backends.dynamodb.table import prepare_table
from backends.dynamodb.tables import DynamoTables
from backends.dynamodb.transport import AiohttpTransport, Signer
from backends.errors import BackendError, BackendMisconfigured, BackendUnavailable, as_backend_error
from backends.sequential import SequentialSteps

log = logging.getLogger("kvs.dynamodb")

_PREPARE_AGAIN_SECONDS = 0.5
_FIRST_CHECK_SECONDS = 2.0


def endpoint_of(region: str) -> str:
    """Returns DynamoDB's endpoint in a region; regions in China have a different domain."""
    return f"https://dynamodb.{region}.amazonaws.com" + (".cn" if region.startswith("cn-") else "")


class DynamoBackend:
    """One DynamoDB table, shared by any number of replicas and prepared in the background."""

    name = "dynamodb"
    warnings: Mapping[StoreWarning, bool] = {}

    def __init__(self, settings: DynamoSettings, clock: Clock) -> None:
        url = settings.endpoint_url or endpoint_of(settings.region)
        self._settings = settings
        self._endpoint = url
        self._transport = AiohttpTransport(f"{url.rstrip('/')}/")
        self._credentials = FreshCredentials()
        self._time = time = StoreTime(clock)
        signer = Signer(settings.region, urlsplit(url).netloc, time.best_ms)
        breaker = Breaker(clock.monotonic_ms)
        self._client = Client(self._transport.post, signer, self._credentials, breaker, time)
        self.counters = DynamoWindowCounter(self._client, settings.table, time.now_ms)
        self.records = DynamoRecordStore(self._client, settings.table, time.best_ms, clock.monotonic_ms)
        self.tables = DynamoTables(
            self._client, settings.table, clock.monotonic_ms, strong_reads=settings.strong_reads
        )
        self.charged = SequentialSteps(self.counters, self.tables)
        self._fault: BackendError | None = BackendUnavailable("the table is being checked")
        self._logged_reason = ""
        self._checked = asyncio.Event()
        self._preparing = Background(self._prepare, self._pause_seconds, self._on_failed_preparation)

    @property
    def clock_lead_seconds(self) -> float | None:
        return self._time.lead_seconds()

    async def ping(self) -> None:
        """Reads one item, for half a read unit, once the table is verified."""
        if not self._checked.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(_FIRST_CHECK_SECONDS):
                    await self._checked.wait()
        if self._fault is not None:
            raise self._fault.copy()
        try:
            await self._client.call(
                Action.GET, {"TableName": self._settings.table, "Key": window_key("ping")}
            )
        except BackendMisconfigured as error:  # somebody may have removed the table, or a permission
            if self._fault is None:
                self._fault = error.copy()
                self._preparing.wake()
            raise

    def apply(self, settings: AdapterSettings) -> bool:
        """Accepts equal settings only. Credentials are not settings: AWS sources refresh them."""
        return settings == self._settings

    async def close(self) -> None:
        await self._preparing.close()
        await self._credentials.close()
        await self._transport.close()

    async def _prepare(self) -> None:
        """Prepares the table. Repeated until it succeeds, so that an operator's fix needs no restart."""
        await prepare_table(self._settings, self._endpoint, self._credentials)
        self._fault, self._logged_reason = None, ""
        self._checked.set()

    def _on_failed_preparation(self, error: Exception) -> None:
        self._fault = as_backend_error(error)
        self._checked.set()
        reason = str(self._fault)
        if reason != self._logged_reason:
            self._logged_reason = reason
            fields = {"table": self._settings.table, "endpoint": self._endpoint, "reason": reason}
            log.error("the DynamoDB table cannot be used", extra={"fields": fields})

    def _pause_seconds(self) -> float | None:
        return None if self._fault is None else _PREPARE_AGAIN_SECONDS
