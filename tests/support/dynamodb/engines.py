"""The engines that tests run on, and where they are known to differ from DynamoDB."""

import enum
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from tests.support.dynamodb.observer import REGION
from tests.support.dynamodb.process import EngineProcess
from tests.support.ports import HOST


class Trait(enum.Enum):
    """Features that some engine lacks; the tests notice an engine that gains one."""

    BATCH_LIMIT = "a batch of 26 is refused"
    CAPACITY = "consumed capacity is reported as charged"
    CHECKSUM_OF_ERRORS = "errors carry a checksum as well"
    CONNECTIONS_STAY = "a connection carries more than one call"
    ERROR_NAMESPACE = "errors name their type with its namespace"
    TTL_ONCE = "time to live cannot be enabled twice"


# Differences of all engines: none checks signatures, permissions or the expiry of credentials, nothing is
# throttled, no item of a batch is left unprocessed, a table is active as soon as it is created, and reads are
# strong without `ConsistentRead`. The scripted endpoint covers these. DynamoDB keeps expired items for up to
# days, and forever if they expired more than five years ago; each engine's docstring says how long it keeps
# them.


class Ministack(EngineProcess):
    """The fastest engine. Collects all expired items every minute."""

    name = "ministack"
    differences: ClassVar[Mapping[enum.Enum, str]] = {
        Trait.ERROR_NAMESPACE: "it gives the name alone; clients look behind the last #",
        Trait.TTL_ONCE: "it repeats the setting without an error",
    }

    def _invocation(self) -> Sequence[str]:
        return [sys.executable, "-m", "ministack"]

    def _environment(self) -> Mapping[str, str]:
        return {
            **super()._environment(),
            "BIND_HOST": HOST,
            "GATEWAY_PORT": str(self.port),
            "SERVICES": "dynamodb",
            "MINISTACK_REGION": REGION,
            "LOG_LEVEL": "WARNING",
            # no listeners besides DynamoDB's, and no search for containers to remove
            "IOT_MTLS_ENABLED": "0",
            "SFTP_ENABLED": "0",
            "DOCKER_HOST": f"unix://{self.directory}/no-docker",
        }


class MotoServer(EngineProcess):
    """Another engine in Python, which gets one request at a time. Never collects expired items."""

    name = "moto"
    differences: ClassVar[Mapping[enum.Enum, str]] = {
        Trait.BATCH_LIMIT: "it counts the items to put, not those to delete",
        Trait.CAPACITY: "it charges one unit for each write and half a unit for each read",
        Trait.CONNECTIONS_STAY: "its server closes each connection after the answer",
        Trait.TTL_ONCE: "it repeats the setting without an error",
    }

    def _invocation(self) -> Sequence[str]:
        return [sys.executable, "-P", str(Path(__file__).with_name("moto_in_turn.py")), HOST, str(self.port)]


class DynamoDbLocal(EngineProcess):
    """AWS's own engine, in memory. Every ten seconds it collects items that expired in the last five years.

    `make test` installs it where that is possible.
    """

    name = "DynamoDB Local"
    differences: ClassVar[Mapping[enum.Enum, str]] = {
        Trait.CHECKSUM_OF_ERRORS: "only successful answers carry one",
    }
    _installed = Path(sys.prefix, "dynamodb-local")

    @classmethod
    def missing(cls) -> str | None:
        if (cls._installed / "ready").exists():
            return None
        reason = cls._installed / "unavailable"
        return reason.read_text().strip() if reason.exists() else "`make test` installs it"

    def _invocation(self) -> Sequence[str]:
        java = shutil.which("java")
        assert java, "there is no java any more"
        return [
            java,
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "-XX:-UsePerfData",
            "-Xmx256m",
            f"-Djava.io.tmpdir={self.directory}",
            f"-Djava.library.path={self._installed}",
            "-cp",
            f"{self._installed}/*:{self._installed}",
            "OnLoopback",
            str(self.port),
        ]


ENGINE: type[EngineProcess] = Ministack
"""The engine that `make test` runs on."""
OTHER_ENGINES: tuple[type[EngineProcess], ...] = (MotoServer, DynamoDbLocal)
ENGINES = (ENGINE, *OTHER_ENGINES)
