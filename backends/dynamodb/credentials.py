"""AWS credentials, from where aiobotocore finds them: environment, files, IRSA, EKS Pod Identity, instance.

They are refreshed in the background, so that no call waits for it.
"""

import asyncio
import logging

from aiobotocore.credentials import AioCredentials
from aiobotocore.session import AioSession

from backends.dynamodb.signing import Credentials
from backends.errors import BackendUnavailable

log = logging.getLogger("kvs.dynamodb")

LOOK_SECONDS = 20.0
"""aiobotocore refreshes from 15 minutes before the end on: many looks, even if some fail."""

LOOK_AGAIN_SECONDS = 1.0
"""While there are none, or a look has failed."""


class FreshCredentials:
    """What signs calls now."""

    def __init__(self) -> None:
        self._source: AioCredentials | None = None
        self._current: Credentials | None = None
        self._fault = ""
        self._looked = asyncio.Event()
        self._refused = asyncio.Event()
        self._keeper = asyncio.create_task(self._keep_fresh())

    async def current(self) -> Credentials:
        """Those found last. Raises BackendUnavailable if there are none."""
        if self._current is None:
            await self._looked.wait()
        if self._current is None:
            raise BackendUnavailable("no AWS credentials can be found")
        return self._current

    def were_refused(self) -> None:
        """They have ended early: look for others at once."""
        self._refused.set()

    async def close(self) -> None:
        """Stop looking; may be repeated."""
        self._keeper.cancel()
        await asyncio.wait([self._keeper])

    async def _keep_fresh(self) -> None:
        while True:
            try:
                self._current = await self._look()
                self._set_fault("")
            except Exception as fault:
                self._set_fault(type(fault).__name__)
            self._looked.set()
            await self._pause()

    async def _look(self) -> Credentials:
        if self._source is None:
            self._source = await AioSession().get_credentials()
        if self._source is None:
            raise LookupError
        frozen = await self._source.get_frozen_credentials()
        return Credentials(frozen.access_key, frozen.secret_key, frozen.token)

    async def _pause(self) -> None:
        seconds = LOOK_AGAIN_SECONDS if self._fault else LOOK_SECONDS
        try:
            async with asyncio.timeout(seconds):
                await self._refused.wait()
        except TimeoutError:
            return
        self._source = None
        await asyncio.sleep(LOOK_AGAIN_SECONDS)
        self._refused.clear()

    def _set_fault(self, fault: str) -> None:
        if fault and fault != self._fault:
            log.error("AWS credentials cannot be found or refreshed", extra={"fields": {"fault": fault}})
        elif self._fault and not fault:
            log.info("AWS credentials are there again")
        self._fault = fault
