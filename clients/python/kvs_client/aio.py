"""The asynchronous client, for any number of tasks of one event loop."""

from collections.abc import Awaitable, Callable
from typing import Any, Self

from kvs_client import encoding
from kvs_client.async_transport import AsyncTransport
from kvs_client.credentials import CredentialSource
from kvs_client.encoding import Entry
from kvs_client.options import Options
from kvs_client.single_flight import AsyncSingleFlight
from kvs_client.table import Table


class AsyncClient(Table):
    """A client of one table. Create one per event loop and keep it: it holds connections and credentials.

    Every call takes `deadline_seconds`, which covers the whole call with its retries, and raises a
    `KvsError` if it fails.
    """

    def _prepare(self, options: Options, source: CredentialSource) -> None:
        self._transport = AsyncTransport(self._configuration, options, source)
        self._flights = AsyncSingleFlight()

    async def put(
        self, key: str, value: Any, ttl_seconds: int | None = None, *, deadline_seconds: float | None = None
    ) -> None:
        """Stores a value as JSON. Retries if the request may not have arrived."""
        await self._put(key, encoding.encoded(value), ttl_seconds, deadline_seconds)

    async def put_raw(
        self, key: str, value: bytes, ttl_seconds: int | None = None, *, deadline_seconds: float | None = None
    ) -> None:
        """Stores bytes that are one JSON value, unchanged."""
        await self._put(key, encoding.checked(value), ttl_seconds, deadline_seconds)

    async def get(self, key: str, *, deadline_seconds: float | None = None) -> Entry | None:
        """Returns the entry, or None if there is none; a value of null is an entry."""
        return encoding.entry(encoding.decoded(await self._get(key, deadline_seconds)))

    async def get_raw(self, key: str, *, deadline_seconds: float | None = None) -> Entry | None:
        """Returns the entry with its value as the stored bytes."""
        return encoding.raw_entry(await self._get(key, deadline_seconds))

    async def delete(self, key: str, *, deadline_seconds: float | None = None) -> None:
        """Deletes the entry, if there is one."""
        body = encoding.key_body(self._whole(key))
        encoding.demand_done("deleted", await self._transport.call("delete", body, deadline_seconds))

    async def get_or_set(
        self,
        key: str,
        make: Callable[[], Awaitable[Any]],
        ttl_seconds: int | None = None,
        *,
        deadline_seconds: float | None = None,
    ) -> Any:
        """Returns the value of the key; if it is missing, puts and returns the result of `make`.

        Runs once at a time for a key: other tasks that ask meanwhile get the same object. The get and the put
        have a deadline each, `make` has none.
        """

        async def get_or_make() -> Any:
            found = await self.get(key, deadline_seconds=deadline_seconds)
            if found is not None:
                return found.value
            value = await make()
            await self.put(key, value, ttl_seconds, deadline_seconds=deadline_seconds)
            return value

        return await self._flights.run(self._whole(key), get_or_make)

    async def close(self) -> None:
        """Closes the connections, also those of clients that share them."""
        await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _get(self, key: str, deadline_seconds: float | None) -> bytes:
        return await self._transport.call("get", encoding.key_body(self._whole(key)), deadline_seconds)

    async def _put(
        self, key: str, value: bytes, ttl_seconds: int | None, deadline_seconds: float | None
    ) -> None:
        body = encoding.put_body(self._whole(key), value, ttl_seconds)
        encoding.demand_done("ok", await self._transport.call("put", body, deadline_seconds))


def from_env(
    table: str, options: Options | None = None, *, prefix: str = "", variable_prefix: str = "SERVICE"
) -> AsyncClient:
    """Creates the asynchronous client of a table from `SERVICE_KVS_URL`, `_REGION` and `_TOKEN_<TABLE>`."""
    return AsyncClient.from_env(table, options, prefix=prefix, variable_prefix=variable_prefix)
