"""Base class of both clients: creation, prefix and repr."""

import copy
from abc import ABC, abstractmethod
from typing import Self

from kvs_client.configuration import Configuration, read_environment, refuse_browsers
from kvs_client.credentials import CredentialSource, Find
from kvs_client.encoding import prefixed
from kvs_client.options import Options


class Table(ABC):
    """A client of one table, synchronous or asynchronous."""

    def __init__(
        self,
        configuration: Configuration,
        options: Options | None = None,
        *,
        prefix: str = "",
        find_credentials: Find | None = None,
    ) -> None:
        """Creates a client; `find_credentials` returns credentials of botocore and replaces its chain."""
        refuse_browsers()
        configuration.check()
        self._configuration = configuration
        self._prefix = prefix
        self._prepare(options or Options(), CredentialSource(find_credentials))

    @abstractmethod
    def _prepare(self, options: Options, source: CredentialSource) -> None:
        """Creates the transport."""

    @classmethod
    def from_env(
        cls, table: str, options: Options | None = None, *, prefix: str = "", variable_prefix: str = "SERVICE"
    ) -> Self:
        """Creates the client of a table from `SERVICE_KVS_URL`, `_REGION` and `_TOKEN_<TABLE>`."""
        return cls(read_environment(table, variable_prefix), options, prefix=prefix)

    def with_prefix(self, prefix: str) -> Self:
        """Returns a client that adds this prefix to every key, after its own prefix, and shares all else."""
        other = copy.copy(self)
        other._prefix = self._prefix + prefix  # noqa: SLF001 - same class
        return other

    def _whole(self, key: str) -> str:
        return prefixed(self._prefix, key)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._configuration.url!r}, {self._configuration.region!r})"
