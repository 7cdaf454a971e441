import uuid

import pytest

from tests.support.dynamodb import ENGINES


@pytest.fixture(scope="session", params=ENGINES, ids=lambda kind: kind.name)
def engine(request):
    """A running engine; what a test does belongs into a table of its own."""
    if reason := request.param.missing():
        pytest.skip(f"{request.param.name}: {reason}")
    with request.param() as engine:
        yield engine


@pytest.fixture
def table_name():
    return f"kvs-{uuid.uuid4().hex}"
