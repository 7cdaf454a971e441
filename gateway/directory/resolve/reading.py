"""The two reads behind a lookup: the pointer of a token, and the document of its app (D27)."""

from backends.interface import RecordStore
from gateway.directory.corrupt import CorruptRecords
from gateway.directory.records import AppRecord, TokenRecord, app_name, binding_of, token_name
from gateway.directory.resolve.cache import CachedBinding
from gateway.domain.model import Binding, Environment


class BindingReader:
    """Reads bindings by the digests of tokens."""

    def __init__(self, records: RecordStore, corrupt: CorruptRecords, default_limit: int) -> None:
        self._records = records
        self._corrupt = corrupt
        self._default_limit = default_limit

    async def read(self, digest: bytes, cached: CachedBinding | None) -> tuple[str, Binding | None]:
        """The version of the app's document, and the binding that it says; `cached` saves reads.

        Raises BackendError, CorruptRecord among them.
        """
        sha256 = digest.hex()
        environment = await self._environment_of(sha256) if cached is None else cached.binding.environment
        if environment is None:
            return "", None
        name = app_name(environment)
        record = await self._records.read(name)
        if record is None:
            return "", None
        if cached is not None and cached.version == record.version:
            return record.version, cached.binding
        app = self._corrupt.decode(name, record, AppRecord)
        return record.version, binding_of(app, sha256, self._default_limit)

    async def _environment_of(self, sha256: str) -> Environment | None:
        name = token_name(sha256)
        pointer = await self._records.read(name)
        return None if pointer is None else self._corrupt.decode(name, pointer, TokenRecord).environment
