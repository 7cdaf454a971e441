"""A fault inside the edge is 500 without details, and one line is logged."""

LOOP_MAKES_NO_DIFFERENCE = True


class Broken:
    """A pipeline that raises an exception of its own."""

    async def serve(self, call):
        raise LookupError("secret-value-of-a-tenant")


async def test_a_fault_outside_of_the_pipeline_is_500_without_details(gateway):
    gateway.app.data.handler._pipeline = Broken()
    reply = await gateway.get("k")
    assert (reply.status, reply.json) == (500, {"error": "internal_error"})


async def test_a_fault_outside_of_the_pipeline_is_logged_without_its_message(gateway, caplog):
    gateway.app.data.handler._pipeline = Broken()
    await gateway.get("k")
    (record,) = [record for record in caplog.records if record.getMessage() == "unhandled exception"]
    assert record.fields["fault"] == ["LookupError"]
    assert "secret-value" not in caplog.text + str(record.fields)


async def test_a_fault_outside_of_the_pipeline_leaves_no_call_in_flight(gateway):
    gateway.app.data.handler._pipeline = Broken()
    await gateway.get("k")
    assert not gateway.app.drain.calls
