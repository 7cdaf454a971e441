"""Log lines name the failing store, without a flood of them."""

import logging


def _complaints(caplog):
    return [record.fields for record in caplog.records if record.name == "kvs.stores"]


async def test_a_failing_store_is_one_line_with_backend_operation_and_fault(gateway, caplog):
    gateway.faults.fail = {"get"}
    for _ in range(20):
        assert (await gateway.get("canary-key")).status == 503
    (line,) = _complaints(caplog)
    assert (line["backend"], line["operation"]) == ("memory", "get")
    assert line["fault"] == ["BackendUnavailable"]
    assert "canary-key" not in str(line)


async def test_another_reason_is_another_line(gateway, caplog):
    gateway.faults.fail = {"get"}
    for gateway.faults.reason in ("away", "away", "full", "away", "full"):
        await gateway.get("k")
    assert [line["reason"] for line in _complaints(caplog)] == ["away", "full"]


async def test_a_store_that_answers_is_not_talked_about(gateway, caplog):
    caplog.set_level(logging.INFO)
    await gateway.put("k", 1)
    assert not _complaints(caplog)
