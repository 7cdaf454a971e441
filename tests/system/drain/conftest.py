from tests.backends.dynamodb.conftest import environment
from tests.replica.conftest import start

__all__ = ["environment", "start"]
