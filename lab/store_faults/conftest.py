from tests.backends.dynamodb.conftest import environment

__all__ = ["environment"]
