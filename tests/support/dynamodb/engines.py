"""The engines that tests run on, and where they are known to differ from DynamoDB."""

import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.dynamodb.observer import REGION
from tests.support.dynamodb.process import EngineProcess
from tests.support.redis.observer import HOST


class Ministack(EngineProcess):
    """The quickest; collects expired items within a minute."""

    name = "ministack"

    def command(self) -> Sequence[str]:
        return [sys.executable, "-m", "ministack"]

    def environment(self) -> Mapping[str, str]:
        return {
            **super().environment(),
            "BIND_HOST": HOST,
            "GATEWAY_PORT": str(self.port),
            "SERVICES": "dynamodb",
            "MINISTACK_REGION": REGION,
            "LOG_LEVEL": "WARNING",
            # neither listeners besides DynamoDB's nor a look for containers to remove
            "IOT_MTLS_ENABLED": "0",
            "SFTP_ENABLED": "0",
            "DOCKER_HOST": f"unix://{self.directory}/no-docker",
        }


class MotoServer(EngineProcess):
    """A second opinion in Python."""

    name = "moto"

    def command(self) -> Sequence[str]:
        return [sys.executable, "-m", "moto.server", "-H", HOST, "-p", str(self.port)]


class DynamoDbLocal(EngineProcess):
    """AWS's own, in memory. `make test` installs it where that is possible."""

    name = "DynamoDB Local"
    _installed = Path(sys.prefix, "dynamodb-local")

    @classmethod
    def missing(cls) -> str | None:
        if (cls._installed / "ready").exists():
            return None
        reason = cls._installed / "unavailable"
        return reason.read_text().strip() if reason.exists() else "`make test` installs it"

    def command(self) -> Sequence[str]:
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


ENGINES: tuple[type[EngineProcess], ...] = (Ministack, MotoServer, DynamoDbLocal)
