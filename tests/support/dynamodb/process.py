"""A DynamoDB engine in a process of its own."""

import enum
from collections.abc import Mapping
from tempfile import TemporaryDirectory
from typing import ClassVar, Self, cast

import pytest
from botocore.exceptions import EndpointConnectionError, HTTPClientError

from tests.support.dynamodb.observer import Observer
from tests.support.ports import HOST
from tests.support.servers import ServerProcess

_SHARED: dict[type["EngineProcess"], "EngineProcess"] = {}


def close_shared_engines() -> None:
    """Ends them with the session."""
    while _SHARED:
        _SHARED.popitem()[1].close()


class EngineProcess(ServerProcess):
    """Listens on loopback only and keeps its tables in memory: with `kill` they are gone.

    One process may serve any number of tests: a table name of its own keeps them apart.
    """

    name: ClassVar[str]
    differences: ClassVar[Mapping[enum.Enum, str]] = {}
    """Known differences from DynamoDB, with reasons."""

    def __init__(self) -> None:
        super().__init__(TemporaryDirectory(prefix="kvs-dynamodb-", ignore_cleanup_errors=True))

    @classmethod
    def missing(cls) -> str | None:
        """Why it cannot be run here, if that is so."""
        return None

    @classmethod
    def or_skip(cls) -> Self:
        """One to be run; where it cannot be, the test is skipped with the reason."""
        if reason := cls.missing():
            pytest.skip(f"{cls.name}: {reason}")
        return cls()

    @classmethod
    def shared(cls) -> Self:
        """Returns the engine that all tests of this process share, and starts it for the first.

        A test keeps apart by a table of its own, and never stops the engine. It ends with the session.
        """
        if cls not in _SHARED:
            engine = cls.or_skip()
            engine.start()
            _SHARED[cls] = engine
        return cast(Self, _SHARED[cls])

    @property
    def endpoint_url(self) -> str:
        return f"http://{HOST}:{self.port}"

    def launch(self) -> None:
        super().launch()
        self.observer = Observer(self.endpoint_url)

    def kill(self) -> None:
        if self._process is not None:
            super().kill()
            self.observer.close()

    def _environment(self) -> Mapping[str, str]:
        """All of it: an engine sees nothing of the environment the tests run in."""
        return {"HOME": str(self.directory), "TMPDIR": str(self.directory)}

    def _answers(self) -> bool:
        try:
            self.observer.client.list_tables()
        except (EndpointConnectionError, HTTPClientError):
            return False
        return True
