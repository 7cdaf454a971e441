"""Failures of ours."""

import pytest

from backends.errors import BackendUnavailable

BODY = {"key": "k", "value": "secret-value-of-a-tenant"}
OPERATIONS = ["put", "get", "delete"]


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_a_store_that_fails_is_503_and_worth_repeating_after_a_second(gateway, operation):
    gateway.faults.fail = {operation}
    reply = await gateway.call(operation, BODY)
    assert (reply.status, reply.json) == (503, {"error": "storage_unavailable"})
    assert reply.headers["Retry-After"] == "1"


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_a_counter_that_fails_is_503_and_never_429(gateway, operation):
    gateway.faults.fail = {"charge"}
    reply = await gateway.call(operation, BODY)
    assert (reply.status, reply.json) == (503, {"error": "quota_unavailable"})
    assert reply.headers["Retry-After"] == "1"


class Unhandled(Exception):
    """An exception that no part of the gateway expects."""

    def __init__(self, _: str) -> None:
        super().__init__("secret-value-of-a-tenant at /internal/path")


@pytest.mark.parametrize("place", ["charge", *OPERATIONS])
async def test_an_unhandled_exception_is_500_and_reveals_nothing(gateway, place):
    gateway.faults.fail, gateway.faults.error = {place}, Unhandled
    reply = await gateway.call("put" if place == "charge" else place, BODY)
    assert (reply.status, reply.json) == (500, {"error": "internal_error"})
    assert "Unhandled" not in str(reply.headers)


async def test_the_log_of_an_unhandled_exception_holds_no_message(gateway, caplog):
    gateway.faults.fail, gateway.faults.error = {"put"}, Unhandled
    await gateway.call("put", BODY)
    (record,) = [record for record in caplog.records if record.getMessage() == "unhandled exception"]
    assert record.fields["fault"] == ["Unhandled"]
    assert "secret-value" not in caplog.text + str(record.fields)


async def test_the_connection_survives_a_failure(gateway):
    gateway.faults.fail = {"*"}
    reply = await gateway.call("put", BODY)
    assert reply.headers.get("Connection") != "close"


@pytest.mark.parametrize("error", [BackendUnavailable, Unhandled])
async def test_service_is_back_with_the_store(gateway, error):
    gateway.faults.fail, gateway.faults.error = {"*"}, error
    assert (await gateway.call("put", BODY)).status in {500, 503}
    gateway.faults.fail = set()
    assert (await gateway.call("put", BODY)).status == 200


async def test_a_failed_write_is_not_repeated(gateway):
    gateway.faults.fail = {"put"}
    await gateway.call("put", BODY)
    assert gateway.faults.count("put") == 1
