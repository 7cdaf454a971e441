"""The three ports on DynamoDB."""

import asyncio
import logging
from contextlib import suppress
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from backends.breaker import Breaker
from backends.clock import Clock
from backends.dynamodb.client import Action, Client
from backends.dynamodb.counters import DynamoWindowCounter
from backends.dynamodb.credentials import FreshCredentials
from backends.dynamodb.entries import DynamoEntryStore
from backends.dynamodb.records import DynamoRecordStore
from backends.dynamodb.schema import window_key
from backends.dynamodb.signing import Signer
from backends.dynamodb.table import TableKeeper
from backends.dynamodb.transport import AiohttpTransport
from backends.errors import BackendError, BackendMisconfigured, BackendUnavailable
from backends.settings import DynamoSettings

log = logging.getLogger("kvs.dynamodb")

_PREPARE_AGAIN_SECONDS = 0.5
_FIRST_LOOK_SECONDS = 2.0


def endpoint_of(region: str) -> str:
    """Where DynamoDB is in a region; those of China have a domain of their own."""
    return f"https://dynamodb.{region}.amazonaws.com" + (".cn" if region.startswith("cn-") else "")


def _lead_seconds(now_seconds: float, date: str | None) -> float | None:
    """An answer's date is cut to its second, so the lead is known to half a second."""
    try:
        return now_seconds - (parsedate_to_datetime(date or "").timestamp() + 0.5)
    except ValueError:
        return None


class DynamoBackend:
    """Any number of replicas may open the same one. The table is looked after in the background."""

    name = "dynamodb"

    def __init__(self, settings: DynamoSettings, clock: Clock) -> None:
        url = settings.endpoint_url or endpoint_of(settings.region)
        self._settings = settings
        self._wall_ms = clock.wall_ms
        self.clock_lead_seconds: float | None = None
        self._endpoint = url
        self._transport = AiohttpTransport(f"{url.rstrip('/')}/")
        self._credentials = FreshCredentials()
        signer = Signer(settings.region, urlsplit(url).netloc, clock.wall_ms)
        self._client = Client(self._transport.post, signer, self._credentials, Breaker(clock.monotonic_ms))
        self.entries = DynamoEntryStore(self._client, settings.table, strong_reads=settings.strong_reads)
        self.counters = DynamoWindowCounter(self._client, settings.table, clock.wall_ms)
        self.records = DynamoRecordStore(self._client, settings.table)
        self._keeper = TableKeeper(settings, url, self._credentials)
        self._unprepared: BackendError | None = BackendUnavailable("the table is being looked at")
        self._looked = asyncio.Event()
        self._preparing = asyncio.create_task(self._prepare())

    async def ping(self) -> None:
        """Half a read unit, once the table was found to be as it should."""
        if not self._looked.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(_FIRST_LOOK_SECONDS):
                    await self._looked.wait()
        if self._unprepared is not None:
            raise self._unprepared.copy()
        try:
            await self._client.call(
                Action.GET, {"TableName": self._settings.table, "Key": window_key("ping")}
            )
        except BackendMisconfigured as fault:
            self._look_again(fault)
            raise
        self.clock_lead_seconds = _lead_seconds(self._wall_ms() / 1000, self._transport.date)

    def apply(self, settings: object) -> bool:
        """Credentials are none of the settings: they are found, and refreshed, as AWS SDKs do."""
        return settings == self._settings

    async def close(self) -> None:
        self._preparing.cancel()
        await asyncio.wait([self._preparing])
        await self._credentials.close()
        await self._transport.close()

    def _look_again(self, fault: BackendError) -> None:
        """Somebody may have removed the table, or taken a permission away."""
        if self._preparing.done():
            self._unprepared = fault
            self._preparing = asyncio.create_task(self._prepare())

    async def _prepare(self) -> None:
        """Until it succeeds, so that what an operator mends takes effect without a restart."""
        reason = ""
        while self._unprepared is not None:
            try:
                await self._keeper.prepare()
                self._unprepared = None
            except BackendError as fault:
                self._unprepared = fault
                if str(fault) != reason:
                    reason = str(fault)
                    fields = {"table": self._settings.table, "endpoint": self._endpoint, "reason": reason}
                    log.error("the DynamoDB table cannot be used", extra={"fields": fields})
                self._looked.set()
                await asyncio.sleep(_PREPARE_AGAIN_SECONDS)
        self._looked.set()
