"""`kvs-gateway usage` on a server that answers like Prometheus: output, queries, errors, exit codes."""

import csv
import io
import json
import re
import shlex
import ssl
from datetime import UTC, datetime, timedelta

import pytest
import trustme

from gateway.cli import usage as usage_command
from tests.cli.answers import OTHER, TARGET, TENANT, USED, answering, counter, starts
from tests.support.repository import ROOT

PERIOD = ("--from", "2026-11-01", "--to", "2026-11-01T00:30:00+00:00")


@pytest.fixture
async def server():
    async with answering() as answers:
        yield answers


@pytest.fixture
def usage(command, server):
    async def usage(*arguments: str):
        return await command("usage", "--prometheus", server.url, *PERIOD, *arguments)

    return usage


async def test_json_has_the_query_the_rows_and_the_warnings(usage):
    result = await usage()
    assert (result.code, result.err) == (0, "")
    row = {
        "requests": 1_000_005,
        "ok": 5,
        "not_found": 1_000_000,
        "invalid": 0,
        "rate_limited": 0,
        "precondition_failed": 0,
        "error": 0,
    }
    assert result.json == {
        "from": "2026-11-01T00:00:00.000Z",
        "to": "2026-11-01T00:30:00.000Z",
        "match": "",
        "lookback_seconds": 2_592_000,
        "rows": [{**TENANT, **row, "request_bytes": 133, "response_bytes": 0}],
        "warnings": [],
    }


async def test_csv_has_a_header_and_the_same_columns(usage, server):
    server.counters = [*USED, counter("requests", (60, "3"), org='a,"b"', outcome="ok")]
    result = await usage("--format", "csv")
    assert (result.code, result.err) == (0, "")
    assert result.out.endswith(",133,0\r\n")
    rows = list(csv.DictReader(io.StringIO(result.out, newline="")))
    as_json = await usage()
    assert rows == [{name: str(value) for name, value in row.items()} for row in as_json.json["rows"]]


@pytest.mark.parametrize("with_beginning", [True, False], ids=["Prometheus 2", "Prometheus 3"])
async def test_sample_on_the_border_of_two_ranges_is_read_once(usage, server, with_beginning):
    server.with_beginning = with_beginning
    between = 2_700  # the border of two ranges: one with a counter reset is halved
    server.counters = [counter("requests", (between, "5"), outcome="ok")]
    (row,) = (await usage("--to", "2026-11-01T02:00:00Z")).json["rows"]
    assert row["requests"] == 5
    server.counters = [
        counter("requests", (between - 900, "7"), (between, "5"), (between + 5, "6"), outcome="ok")
    ]
    (row,) = (await usage("--to", "2026-11-01T02:00:00Z")).json["rows"]
    assert row["requests"] == 7 + 5 + 1


@pytest.mark.parametrize(("known", "requests"), [(TARGET, 1 + 6), ({"instance": "another"}, 1)])
async def test_restart_is_recognized_by_the_start_time_of_a_gateway(usage, server, known, requests):
    server.counters = [counter("requests", (-10, "5"), (60, "6"), (120, "6"), outcome="ok")]
    server.starts = [starts((-10, -9_000), (60, -9_000), (120, 90))]
    server.gateway = known
    (row,) = (await usage()).json["rows"]
    assert row["requests"] == requests


async def test_process_scraped_under_two_names_is_a_warning(usage, server):
    names = {"endpoint": "a"}, {"endpoint": "b"}
    server.counters = [counter("requests", (60, "6"), **name, outcome="ok") for name in names]
    server.starts = [starts((60, -60))]
    (warning,) = (await usage()).json["warnings"]
    assert warning["warning"] == "counted_twice"
    assert warning["targets"] == [[{**TARGET, **name} for name in names]]


async def test_https_requires_a_trusted_certificate(command, monkeypatch, tmp_path):
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    async with answering(tls) as server:
        refused = await command("usage", "--prometheus", server.url, *PERIOD)
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        trusted = await command("usage", "--prometheus", server.url, *PERIOD)
    assert (refused.code, trusted.code) == (5, 0)


async def test_rows_are_sorted_by_their_labels(usage, server):
    server.counters = [counter("requests", (60, "1"), org=org, outcome="ok") for org in ("b", "c", "a")]
    assert [row["org"] for row in (await usage()).json["rows"]] == ["a", "b", "c"]


async def test_unknown_outcome_of_another_version_has_its_own_column(usage, server):
    server.counters = [counter("requests", (60, "3"), outcome="deferred")]
    (row,) = (await usage()).json["rows"]
    assert (row["requests"], row["deferred"], row["ok"]) == (3, 3, 0)


async def test_usage_without_a_tenant_is_a_warning(usage, server):
    server.counters = [*USED, counter("requests", (60, "4"), **OTHER, outcome="ok")]
    (warning,) = (await usage()).json["warnings"]
    assert (warning["warning"], warning["requests"]) == ("other", 4)


async def test_csv_prints_warnings_as_json_on_standard_error(usage, server):
    server.counters = []
    result = await usage("--format", "csv")
    assert result.out.startswith("org,app,env,table,operation,requests,ok,")
    assert [warning["warning"] for warning in result.error["warnings"]] == ["no_samples"]


async def test_progress_is_reported_on_standard_error(usage, monkeypatch):
    monkeypatch.setattr(usage_command, "_PROGRESS_SECONDS", 0)
    result = await usage("--to", "2026-11-03T00:00:00Z")
    reports = [json.loads(line) for line in result.err.splitlines()]
    assert [each["share"] for each in reports] == sorted(each["share"] for each in reports)
    assert reports[-1] == {"read_until": "2026-11-03T00:00:00.000Z", "share": 1.0}


async def test_period_that_is_not_over_is_a_warning(usage):
    begin = datetime.now(UTC) - timedelta(minutes=1)
    result = await usage("--from", begin.isoformat(), "--to", "2999-01-01")
    assert "not_over" in [warning["warning"] for warning in result.json["warnings"]]


@pytest.mark.parametrize("matchers", ['org="acme"', '{org="acme"}', ' { org="acme", } '])
async def test_matchers_restrict_the_counters(usage, server, matchers):
    assert (await usage("--match", matchers)).code == 0
    assert all('org="acme"' in query for query in server.queries if query.startswith("{"))


async def test_matcher_cannot_remove_the_range_of_a_query(usage, server):
    assert (await usage("--match", 'org="acme"}[5m] #')).code == 0
    of_counters = [query for query in server.queries if 'org="acme"' in query]
    assert of_counters
    assert all(re.match(r"\}\[\d+ms\]", query.splitlines()[-1]) for query in of_counters)


async def test_token_is_sent_and_never_printed(usage, server, monkeypatch):
    monkeypatch.setenv("KVS_PROMETHEUS_TOKEN", "secret")
    server.always = (500, b"secret")
    result = await usage()
    assert all(b"Authorization: Bearer secret\r\n" in head for head in server.heads)
    assert "secret" not in result.err


async def test_no_authorization_is_sent_without_a_token(usage, server):
    await usage()
    assert not any(b"Authorization" in head for head in server.heads)


async def test_malformed_token_exits_4_and_is_not_printed(usage, monkeypatch):
    monkeypatch.setenv("KVS_PROMETHEUS_TOKEN", "secret\r\nX: 1")
    result = await usage()
    assert (result.code, result.error["error"]) == (4, "invalid_prometheus_token")
    assert "secret" not in result.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("--from", "yesterday"),
        ("--from", "2026-13-01"),
        ("--from", "1969-12-31"),
        ("--to", "9999-12-31T23:59:59-00:01"),
        ("--from", "2026-11-01T00:00:00"),
        ("--to", "20261101"),
        ("--lookback", "30"),
        ("--lookback", "1y"),
        ("--format", "xml"),
    ],
    ids=" ".join,
)
async def test_malformed_argument_exits_4(usage, arguments):
    result = await usage(*arguments)
    assert (result.code, result.error["error"]) == (4, "usage")


async def test_period_that_ends_before_its_start_exits_4(usage):
    result = await usage("--to", "2026-11-01")
    assert (result.code, result.error["error"]) == (4, "invalid_period")


async def test_malformed_url_exits_4(command):
    result = await command("usage", "--prometheus", "ftp://x", *PERIOD)
    assert (result.code, result.error["error"]) == (4, "invalid_url")


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "https://127.0.0.1:1"])
async def test_unreachable_prometheus_exits_5(command, url):
    result = await command("usage", "--prometheus", url, *PERIOD)
    assert (result.code, result.out, result.error["error"]) == (5, "", "network")
    assert result.error["detail"].startswith(f"nothing listens at {url}: ")


@pytest.mark.parametrize("status", [401, 403])
async def test_wrong_token_exits_2(usage, server, monkeypatch, status):
    server.always = (status, b"no")
    monkeypatch.setenv("KVS_PROMETHEUS_TOKEN", "wrong")
    result = await usage()
    assert (result.code, result.error["error"], result.error["status"]) == (2, "not_authorized", status)
    assert result.error["detail"] == "Prometheus refused the token in KVS_PROMETHEUS_TOKEN"


async def test_error_names_the_variable_of_a_missing_token(usage, server, monkeypatch):
    server.always = (401, b"no")
    monkeypatch.delenv("KVS_PROMETHEUS_TOKEN", raising=False)
    assert "KVS_PROMETHEUS_TOKEN is not set" in (await usage()).error["detail"]


@pytest.mark.parametrize(
    ("kind", "code"), [("bad_data", 4), ("execution", 1), ("internal", 1), ("unavailable", 1)]
)
async def test_refusal_by_prometheus_is_shown_in_its_words(usage, server, kind, code):
    server.always = (422, json.dumps({"status": "error", "errorType": kind, "error": "no way"}).encode())
    result = await usage()
    assert (result.code, result.error["error"], result.error["detail"]) == (code, "query_failed", "no way")


async def test_too_many_samples_in_one_second_exits_1(usage, server):
    message = "query processing would load too many samples into memory in query execution"
    server.always = (422, json.dumps({"errorType": "execution", "error": message}).encode())
    result = await usage()
    assert (result.code, result.error["error"]) == (1, "too_many_samples")
    lengths = [int(re.search(r"\[(\d+)ms\]", query)[1]) for query in server.queries]
    assert lengths[0] > lengths[-1] >= 1000
    assert lengths == sorted(lengths, reverse=True)


def _samples(text: bytes) -> bytes:
    return b'{"data": {"result": [{"metric": {}, "values": [%s]}]}}' % text


ANSWERS_OF_OTHERS = {
    "html": (200, b"<html>"),
    "another object": (200, b"{}"),
    "nothing there": (404, b"nothing here"),
    "a redirection": (302, b""),
    "a value that is no number": (200, _samples(b'[1793491260, "many"]')),
    "a time without end": (200, _samples(b'[1e308, "1"]')),
    "depth": (200, b'{"data": {"result": [], "more": %s}}' % (b"[" * 100_000 + b"]" * 100_000)),
}


@pytest.mark.parametrize("answer", ANSWERS_OF_OTHERS.values(), ids=ANSWERS_OF_OTHERS)
async def test_server_that_is_not_prometheus_exits_1(usage, server, answer):
    server.always = answer
    result = await usage()
    assert (result.code, result.out, result.error["error"]) == (1, "", "unexpected_answer")


async def test_documented_command_works(server, command):
    text = (ROOT / "docs" / "billing.md").read_text()
    (written,) = re.findall(r"^kvs-gateway (usage .*?)(?: >.*)?$", text, re.MULTILINE)
    result = await command(*shlex.split(written.replace("http://prometheus:9090", server.url)))
    assert (result.code, result.out.splitlines()[0][:25]) == (0, "org,app,env,table,operati")
