"""AWS credentials, from where aiobotocore finds them: environment, files, IRSA, EKS Pod Identity, instance.

They are refreshed in the background, so that no call waits for it (D108).
"""

import asyncio
import logging
from contextlib import suppress
from functools import cache

from aiobotocore.credentials import AioCredentials
from aiobotocore.session import AioSession
from botocore.loaders import Loader, create_loader

from backends.dynamodb.signing import Credentials
from backends.errors import BackendUnavailable

log = logging.getLogger("kvs.dynamodb")

LOOK_SECONDS = 20.0
"""aiobotocore refreshes from 15 minutes before the end on: many looks, even if some fail."""

LOOK_AGAIN_SECONDS = 1.0
"""At the soonest; while there are none, or a look has failed, at the latest, too."""

LONGEST_LOOK_SECONDS = 15.0
"""The instance's metadata answer within a few; AWS SDKs would wait for minutes for others."""


@cache
def _loader() -> Loader:
    return create_loader()


def new_session() -> AioSession:
    """One that reads files anew, but not what botocore knows of services, which would hold the loop up."""
    session = AioSession()
    session.register_component("data_loader", _loader())
    return session


class FreshCredentials:
    """What signs calls now."""

    def __init__(self) -> None:
        self._source: AioCredentials | None = None
        self._current: Credentials | None = None
        self._fault = ""
        self._looked = asyncio.Event()
        self._refused = asyncio.Event()
        self._keeper = asyncio.create_task(self._keep_fresh())

    async def current(self, due: float) -> Credentials:
        """Those found last. Raises BackendUnavailable if there are none when the loop's time is `due`."""
        if not self._looked.is_set():
            await self._first_look(due)
        if self._current is None:
            raise BackendUnavailable("no AWS credentials can be found")
        return self._current

    def were_refused(self, credentials: Credentials) -> None:
        """They have ended early, or are not known any more: look for others."""
        if credentials is self._current:
            self._refused.set()

    async def close(self) -> None:
        """Stop looking; may be repeated."""
        self._keeper.cancel()
        await asyncio.wait([self._keeper])

    async def _first_look(self, due: float) -> None:
        try:
            async with asyncio.timeout_at(due):
                await self._looked.wait()
        except TimeoutError:
            raise BackendUnavailable("AWS credentials are still being looked for") from None

    async def _keep_fresh(self) -> None:
        while True:
            try:
                async with asyncio.timeout(LONGEST_LOOK_SECONDS):
                    self._current = await self._look()
                self._set_fault("")
            except Exception as fault:
                self._set_fault(type(fault).__name__)
            self._looked.set()
            await self._pause()

    async def _look(self) -> Credentials:
        if self._source is None:
            self._source = await new_session().get_credentials()
        if self._source is None:
            raise LookupError
        frozen = await self._source.get_frozen_credentials()
        return Credentials(
            _clean(frozen.access_key),
            _clean(frozen.secret_key),
            None if frozen.token is None else _clean(frozen.token),
        )

    async def _pause(self) -> None:
        await asyncio.sleep(LOOK_AGAIN_SECONDS)
        if not self._fault:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._refused.wait()
        if self._fault or self._refused.is_set():
            self._refused.clear()
            self._source = None

    def _set_fault(self, fault: str) -> None:
        if fault and fault != self._fault:
            log.error("AWS credentials cannot be found or refreshed", extra={"fields": {"fault": fault}})
        elif self._fault and not fault:
            log.info("AWS credentials are there again")
        self._fault = fault


def _clean(part: str) -> str:
    """Without the newline that files have at their end. Raises ValueError for what no header can hold."""
    part = part.strip()
    if not (part.isascii() and part.isprintable()):
        raise ValueError
    return part
