"""AWS credentials from the sources of aiobotocore: environment, files, IRSA, EKS Pod Identity, instance.

They are refreshed in the background, so that no call waits for a refresh. When DynamoDB refuses them as
expired or unknown, they are looked up again immediately, at most once a second.
"""

import asyncio
import logging
from functools import cache

from aiobotocore.credentials import AioCredentials
from aiobotocore.session import AioSession
from botocore.loaders import Loader, create_loader

from backends.background import Background
from backends.dynamodb.transport import AwsCredentials
from backends.errors import BackendUnavailable

log = logging.getLogger("kvs.dynamodb")

REFRESH_SECONDS = 20.0
"""aiobotocore renews from 15 minutes before the expiry: time for many attempts, even if some fail."""

COOLDOWN_SECONDS = 1.0
"""Minimum pause between two refreshes, and the exact pause after a failed one."""

TIMEOUT_SECONDS = 15.0
"""Deadline of a refresh. Instance metadata takes seconds; for other sources SDKs wait minutes."""


@cache
def _loader() -> Loader:
    return create_loader()


def new_session() -> AioSession:
    """Creates a session that reads files again, but not botocore's service models: they block the loop."""
    session = AioSession()
    session.register_component("data_loader", _loader())
    return session


class FreshCredentials:
    """Current signing credentials, refreshed in the background."""

    def __init__(self) -> None:
        self._source: AioCredentials | None = None
        self._source_is_stale = False
        self._current: AwsCredentials | None = None
        self._fault = ""
        self._decided = asyncio.Event()  # set after the first search, successful or not
        self._refresher = Background(
            self._refresh, self._pause_seconds, self._on_failed_refresh, lambda: COOLDOWN_SECONDS
        )

    async def current(self, due: float) -> AwsCredentials:
        """Returns the latest credentials. Raises BackendUnavailable if there are none by loop time `due`."""
        if not self._decided.is_set():
            try:
                async with asyncio.timeout_at(due):
                    await self._decided.wait()
            except TimeoutError:
                raise BackendUnavailable("the first search for AWS credentials has not ended") from None
        if self._current is None:
            raise BackendUnavailable("no AWS credentials found")
        return self._current

    def invalidate(self, credentials: AwsCredentials) -> None:
        """Looks for other credentials immediately, because DynamoDB refuses these: expired early, or deleted.

        Of many calls refused with the same credentials only the first one triggers it.
        """
        if credentials is self._current:
            self._source_is_stale = True
            self._refresher.wake()

    async def close(self) -> None:
        """Stops refreshing; idempotent."""
        await self._refresher.close()

    async def _refresh(self) -> None:
        if self._source_is_stale:
            self._source, self._source_is_stale = None, False
        async with asyncio.timeout(TIMEOUT_SECONDS):
            self._current = await self._find()
        self._set_fault("")

    def _on_failed_refresh(self, error: Exception) -> None:
        """Keeps the last credentials in use: they may still be accepted."""
        self._source_is_stale = True
        self._set_fault(type(error).__name__)

    def _pause_seconds(self) -> float:
        return 0.0 if self._fault else REFRESH_SECONDS

    async def _find(self) -> AwsCredentials:
        if self._source is None:
            self._source = await new_session().get_credentials()
        if self._source is None:
            raise LookupError
        frozen = await self._source.get_frozen_credentials()
        return AwsCredentials(
            _clean(frozen.access_key),
            _clean(frozen.secret_key),
            None if frozen.token is None else _clean(frozen.token),
        )

    def _set_fault(self, fault: str) -> None:
        if fault and fault != self._fault:
            log.error("AWS credentials cannot be found or refreshed", extra={"fields": {"fault": fault}})
        elif self._fault and not fault:
            log.info("AWS credentials are available again")
        self._fault = fault
        self._decided.set()


def _clean(part: str) -> str:
    """Strips a file's trailing newline. Raises ValueError for characters that no header can carry."""
    part = part.strip()
    if not (part.isascii() and part.isprintable()):
        raise ValueError
    return part
