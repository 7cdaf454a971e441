"""Region, service, scope and time of a signature."""

import pytest

from tests.sigv4.wire import assert_refused, sign_by_hand, signed
from tests.support.gateway import run_gateway

INVALID = "InvalidSignatureException"
INCOMPLETE = ("incomplete_signature", "IncompleteSignatureException")
NOW = "20261120T000000Z"
WRONG_SERVICE = "Credential should be scoped to correct service: 'execute-api'."


@pytest.mark.parametrize(
    "region", ["us-east-1", "EU-CENTRAL-1", "eu-central-11", "eu-central", "", "*", "aws-global"]
)
async def test_another_region_is_refused_by_name(gateway, region):
    reply = await signed(gateway).edit("eu-central-1", region).send(gateway)
    message = f"Credential should be scoped to a valid region, not '{region}'."
    assert_refused(reply, "invalid_region", INVALID, message)


async def test_a_request_signed_for_another_region_is_refused(gateway):
    reply = await gateway.put("k", 1, signer=gateway.signer.but(region="us-east-1"))
    assert_refused(reply, "invalid_region", INVALID)


async def test_a_very_long_region_is_not_returned_in_full(gateway):
    reply = await signed(gateway).edit("eu-central-1", "r" * 5000).send(gateway)
    assert_refused(reply, "invalid_region", INVALID)
    assert len(reply.body) < 400


@pytest.mark.parametrize("service", ["s3", "sts", "Execute-Api", "execute-api2", "", "service"])
async def test_another_service_is_refused(gateway, service):
    reply = await signed(gateway).edit("execute-api", service).send(gateway)
    assert_refused(reply, "invalid_service", INVALID, WRONG_SERVICE)


async def test_a_request_signed_for_another_service_is_refused(gateway):
    reply = await gateway.put("k", 1, signer=gateway.signer.but(service="lambda"))
    assert_refused(reply, "invalid_service", INVALID, WRONG_SERVICE)


@pytest.mark.parametrize("terminator", ["aws4_requests", "AWS4_REQUEST", "", "aws5_request"])
async def test_another_terminator_is_refused(gateway, terminator):
    reply = await signed(gateway).edit("aws4_request", terminator).send(gateway)
    assert_refused(reply, "invalid_scope", INVALID)
    assert "terminator" in reply.json["message"]


@pytest.mark.parametrize("day", ["20261119", "20261121", "2026112", "202611200", "", "20261120T000000Z"])
async def test_a_scope_of_another_day_than_the_request_is_refused(gateway, day):
    reply = await signed(gateway).edit("/20261120/", f"/{day}/").send(gateway)
    assert_refused(reply, "invalid_scope", INVALID)
    assert "Date" in reply.json["message"]


@pytest.mark.parametrize("late_seconds", [-300, -1, 0, 299, 300])
async def test_up_to_300_seconds_either_way_are_inside_the_window(gateway, late_seconds):
    assert (await signed(gateway, late_seconds=late_seconds).send(gateway)).status == 200


async def test_signature_of_301_seconds_ago_is_expired_and_the_message_names_both_times(gateway):
    reply = await signed(gateway, late_seconds=301).send(gateway)
    assert_refused(reply, "signature_expired", INVALID)
    message = reply.json["message"]
    assert message.startswith("Signature expired: 20261119T235459Z ")
    assert NOW in message


async def test_signature_301_seconds_ahead_is_not_yet_current_and_the_message_names_both_times(gateway):
    reply = await signed(gateway, late_seconds=-301).send(gateway)
    assert_refused(reply, "signature_expired", INVALID)
    message = reply.json["message"]
    assert message.startswith("Signature not yet current: 20261120T000501Z ")
    assert NOW in message


async def test_a_captured_request_is_refused_once_the_window_has_passed(gateway):
    wire = signed(gateway)
    assert (await wire.send(gateway)).status == 200
    gateway.clock.advance(301_000)
    assert_refused(await wire.send(gateway), "signature_expired", INVALID)


async def test_a_request_signed_yesterday_is_inside_the_window_just_after_midnight(gateway):
    reply = await signed(gateway, late_seconds=10).send(gateway)
    assert (reply.status, reply.json) == (200, {"ok": True})


@pytest.mark.parametrize("date", ["00010101T000000Z", "99991231T235959Z", "19700101T000000Z"])
async def test_the_earliest_and_latest_dates_are_outside_the_window(gateway, date):
    wire = signed(gateway).set("X-Amz-Date", date).edit("/20261120/", f"/{date[:8]}/")
    reply = await wire.send(gateway)
    assert_refused(reply, "signature_expired", INVALID)
    assert date in reply.json["message"]


@pytest.mark.parametrize(
    "date",
    [
        "",
        "now",
        "20261120t000000Z",
        "20261120T000000z",
        "20261120T000000",
        "20261120T000000ZZ",
        "20261120 000000Z",
        "2026-11-20T00:00:00Z",
        "2026112T000000Z",
        "20261120T00000Z",
        "20261120T0000Z",
        "20261120T000000+0000",
        "20261120T000000.0Z",
        "+0261120T000000Z",
        "2026_120T000000Z",
        "20261320T000000Z",
        "20261100T000000Z",
        "20260229T000000Z",
        "20261120T240000Z",
        "20261120T006000Z",
        "20261120T000060Z",
        "00001120T000000Z",
        "Fri, 20 Nov 2026 00:00:00 GMT",
        "1795132800",
        "２０２６1120T000000Z",  # noqa: RUF001 - full-width digits are the point
        "\u0662\u0660\u0662\u06661120T000000Z",
        b"20261120T00000\xb2Z",
        b"20261120T000000Z\xa0",
        b"\xff\xfe",
    ],
)
async def test_a_date_in_another_form_or_of_no_real_moment_is_incomplete(gateway, date):
    assert_refused(await signed(gateway).set("X-Amz-Date", date).send(gateway), *INCOMPLETE)


async def test_no_date_at_all_is_incomplete(gateway):
    reply = await signed(gateway).drop("X-Amz-Date").send(gateway)
    message = "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header."
    assert_refused(reply, *INCOMPLETE, message)


async def test_two_dates_are_incomplete(gateway):
    assert_refused(await signed(gateway).add("X-Amz-Date", NOW).send(gateway), *INCOMPLETE)


def host(gateway) -> str:
    return gateway.data.split("/")[2]


@pytest.mark.parametrize("names", ["date;host", "host"])
async def test_date_in_basic_form_serves_where_x_amz_date_was_not_sent(gateway, names):
    wire = sign_by_hand({"Host": host(gateway), "Date": NOW}, names=names, date=NOW)
    assert (await wire.send(gateway)).status == 200


async def test_x_amz_date_takes_precedence_over_date(gateway):
    sent = {"Host": host(gateway), "X-Amz-Date": NOW, "Date": "20200101T000000Z"}
    wire = sign_by_hand(sent, names="host;x-amz-date", date=NOW)
    assert (await wire.send(gateway)).status == 200


async def test_date_as_http_writes_it_is_incomplete(gateway):
    date = "Fri, 20 Nov 2026 00:00:00 GMT"
    wire = sign_by_hand({"Host": host(gateway), "Date": date}, names="date;host", date=NOW)
    assert_refused(await wire.send(gateway), *INCOMPLETE)


async def test_the_window_is_the_one_of_the_configuration():
    async with run_gateway({"signature": {"clock_skew_seconds": 60}}) as gateway:
        assert (await signed(gateway, late_seconds=60).send(gateway)).status == 200
        assert_refused(await signed(gateway, late_seconds=61).send(gateway), "signature_expired", INVALID)
