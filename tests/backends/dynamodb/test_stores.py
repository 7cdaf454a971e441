"""The DynamoDB store does what is asked of every store, on every engine there is."""

import pytest

from tests.backends.dynamodb.conformance import DynamoConformance, new_table, suited_to_engines
from tests.support.dynamodb import DynamoDbLocal, EngineProcess, Ministack, MotoServer


class _OnEngine(DynamoConformance):
    kind: type[EngineProcess]

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def started(cls):
        with suited_to_engines():
            cls.engine = cls.kind.shared()
            cls.table = new_table()
            yield


class TestMinistack(_OnEngine):
    kind = Ministack


@pytest.mark.test_all
class TestMoto(_OnEngine):
    kind = MotoServer


@pytest.mark.test_all
class TestDynamoDbLocal(_OnEngine):
    kind = DynamoDbLocal
