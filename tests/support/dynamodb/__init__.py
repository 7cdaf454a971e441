"""DynamoDB for tests: real engines over HTTP that clean up, and an endpoint that gives scripted answers.

Engines are synchronous, which suits fixtures of any scope; what waits, `start` above all, belongs into
`asyncio.to_thread` where a gateway runs in the same loop. The endpoint runs in the loop of its test.
"""

from tests.support.dynamodb.endpoint import Call, ScriptedEndpoint
from tests.support.dynamodb.engines import (
    ENGINES,
    OTHER_ENGINES,
    DynamoDbLocal,
    Ministack,
    MotoServer,
    Trait,
)
from tests.support.dynamodb.observer import ENVIRONMENT, REGION
from tests.support.dynamodb.process import EngineProcess, close_shared_engines

__all__ = [
    "ENGINES",
    "ENVIRONMENT",
    "OTHER_ENGINES",
    "REGION",
    "Call",
    "DynamoDbLocal",
    "EngineProcess",
    "Ministack",
    "MotoServer",
    "ScriptedEndpoint",
    "Trait",
    "close_shared_engines",
]
