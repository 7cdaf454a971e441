"""The synchronous client, for any number of threads."""

from collections.abc import Callable
from typing import Any, Self

from kvs_client import encoding
from kvs_client.credentials import CredentialSource
from kvs_client.encoding import Entry
from kvs_client.options import Options
from kvs_client.single_flight import SingleFlight
from kvs_client.table import Table
from kvs_client.transport import Transport


class Client(Table):
    """A client of one table. Create one per process and keep it: it holds connections and credentials.

    Every call takes `deadline_seconds`, which covers the whole call with its retries, and raises a
    `KvsError` if it fails.
    """

    def _prepare(self, options: Options, source: CredentialSource) -> None:
        self._transport = Transport(self._configuration, options, source)
        self._flights = SingleFlight()

    def put(
        self, key: str, value: Any, ttl_seconds: int | None = None, *, deadline_seconds: float | None = None
    ) -> None:
        """Stores a value as JSON. Retries if the request may not have arrived."""
        self._put(key, encoding.encoded(value), ttl_seconds, deadline_seconds)

    def put_raw(
        self, key: str, value: bytes, ttl_seconds: int | None = None, *, deadline_seconds: float | None = None
    ) -> None:
        """Stores bytes that are one JSON value, unchanged."""
        self._put(key, encoding.checked(value), ttl_seconds, deadline_seconds)

    def get(self, key: str, *, deadline_seconds: float | None = None) -> Entry | None:
        """Returns the entry, or None if there is none; a value of null is an entry."""
        return encoding.entry(encoding.decoded(self._get(key, deadline_seconds)))

    def get_raw(self, key: str, *, deadline_seconds: float | None = None) -> Entry | None:
        """Returns the entry with its value as the stored bytes."""
        return encoding.raw_entry(self._get(key, deadline_seconds))

    def delete(self, key: str, *, deadline_seconds: float | None = None) -> None:
        """Deletes the entry, if there is one."""
        body = encoding.key_body(self._whole(key))
        encoding.demand_done("deleted", self._transport.call("delete", body, deadline_seconds))

    def get_or_set(
        self,
        key: str,
        make: Callable[[], Any],
        ttl_seconds: int | None = None,
        *,
        deadline_seconds: float | None = None,
    ) -> Any:
        """Returns the value of the key; if it is missing, puts and returns the result of `make`.

        Runs once at a time for a key: other threads that ask meanwhile get the same object. The get and the
        put have a deadline each, `make` has none.
        """

        def get_or_make() -> Any:
            found = self.get(key, deadline_seconds=deadline_seconds)
            if found is not None:
                return found.value
            value = make()
            self.put(key, value, ttl_seconds, deadline_seconds=deadline_seconds)
            return value

        return self._flights.run(self._whole(key), get_or_make)

    def close(self) -> None:
        """Closes the connections, also those of clients that share them."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _get(self, key: str, deadline_seconds: float | None) -> bytes:
        return self._transport.call("get", encoding.key_body(self._whole(key)), deadline_seconds)

    def _put(self, key: str, value: bytes, ttl_seconds: int | None, deadline_seconds: float | None) -> None:
        body = encoding.put_body(self._whole(key), value, ttl_seconds)
        encoding.demand_done("ok", self._transport.call("put", body, deadline_seconds))
