"""The engines that tests run on, and where they are known to differ from DynamoDB."""

import sys
from collections.abc import Mapping, Sequence

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
