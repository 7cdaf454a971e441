"""The OpenAPI document: valid, served, and of one mind with the code about codes, limits and routes."""

import json
from typing import Any, get_args

import msgspec
import pytest
import schemathesis
from jsonschema_rs import Draft202012Validator

from backends.tables import LARGEST_INTEGER
from gateway import __version__
from gateway.dataplane.handler import ROUTES
from gateway.domain import rules
from gateway.domain.model import Operation
from gateway.domain.rules import WINDOW_MS, Limits
from tests.opsplane.openapi import (
    DOCUMENT,
    codes_of,
    documented_codes,
    error_responses,
    operations,
    schema_of,
)
from tests.support.refusals import data_plane_refusals

LIMITS = Limits()


def test_the_document_is_valid_openapi():
    schemathesis.openapi.from_dict(DOCUMENT).validate()


async def test_the_ops_listener_serves_the_document(gateway):
    reply = await gateway.ask_ops("/openapi.json")
    assert (reply.status, reply.headers["Content-Type"]) == (200, "application/json")
    assert reply.json == DOCUMENT


@pytest.mark.parametrize("listener", ["data", "control"])
async def test_the_other_listeners_do_not(gateway, listener):
    call = gateway.call("get", {}, path="/openapi.json") if listener == "data" else None
    reply = await (call or gateway.manage("GET", "/openapi.json"))
    assert reply.status == 404


def test_it_states_this_version():
    assert DOCUMENT["info"]["version"] == __version__


def test_each_refusal_of_the_data_plane_is_documented_and_no_other():
    exist = {kind.code for kind in data_plane_refusals()}
    assert documented_codes("data") == exist


def test_each_refusal_is_documented_under_its_status():
    status_of = {kind.code: kind.status for kind in data_plane_refusals()}
    for operation in operations("data"):
        for status, response in operation["responses"].items():
            assert {status_of[code] for code in codes_of({"responses": {status: response}})} <= {int(status)}


def test_each_error_response_names_the_header_that_explains_it():
    responses = {(str(path), status): each for path, status, each in error_responses()}
    silent = [place for place, each in responses.items() if "x-kvs-error-detail" not in each["headers"]]
    assert silent == []


def test_the_routes_of_the_data_plane_are_those_of_the_gateway():
    paths = {path for path, methods in DOCUMENT["paths"].items() if methods.get("post") in operations("data")}
    assert {path.encode() for path in paths} == set(ROUTES)
    assert {operation["operationId"] for operation in operations("data")} == set(Operation)


async def test_the_routes_of_the_control_plane_are_those_of_the_gateway(gateway):
    documented = {
        (path, method.upper())
        for path, methods in DOCUMENT["paths"].items()
        for method, operation in methods.items()
        if operation in operations("control")
    }
    served = set()
    for pattern, methods in gateway.app.control.handler.router.routes:
        (path,) = {path for path, _ in documented if pattern.fullmatch(path)}
        served |= {(path, method) for method in methods}
    assert served == documented


def test_the_limits_are_those_of_the_gateway():
    put = schema_of("Put")["properties"]
    assert schema_of("Key")["maxLength"] == LIMITS.key_bytes == 512
    assert f"{LIMITS.value_bytes:,} bytes" in put["value"]["description"]
    ttl = schema_of("TimeToLive")
    assert (ttl["minimum"], ttl["maximum"]) == (60, 31_536_000)
    assert (LIMITS.min_ttl_seconds, LIMITS.max_ttl_seconds) == (60, 31_536_000)
    assert (
        f"{LIMITS.body_bytes:,} bytes" in DOCUMENT["components"]["responses"]["BodyTooLarge"]["description"]
    )
    assert DOCUMENT["components"]["headers"]["RetryAfter"]["schema"]["maximum"] == WINDOW_MS // 1000


def test_the_limits_of_one_operation_are_those_of_the_gateway():
    listing, by = schema_of("List")["properties"], schema_of("Increment")["properties"]["by"]
    assert listing["limit"]["maximum"] == schema_of("Page")["properties"]["entries"]["maxItems"]
    assert (listing["limit"]["maximum"], listing["limit"]["default"]) == (
        rules.PAGE_ENTRIES,
        rules.DEFAULT_PAGE_ENTRIES,
    )
    assert listing["prefix"]["maxLength"] == LIMITS.key_bytes
    assert (by["minimum"], by["maximum"]) == (-LARGEST_INTEGER, LARGEST_INTEGER)
    assert schema_of("Batch")["properties"]["operations"]["maxItems"] == rules.BATCH_OPERATIONS


def test_the_limits_of_the_control_plane_are_those_of_the_gateway():
    assert schema_of("Name")["pattern"] == _pattern(rules.Name)
    assert schema_of("TableName")["pattern"] == _pattern(rules.TableName)
    parameters = DOCUMENT["components"]["parameters"]
    assert parameters["AfterApp"]["schema"]["pattern"] == _pattern(rules.AppCursor)
    assert parameters["AfterOrg"]["schema"]["pattern"] == _pattern(rules.OrgCursor)
    assert parameters["AppLimit"]["schema"]["maximum"] == _largest(rules.PageLimit)
    assert parameters["OrgLimit"]["schema"]["maximum"] == _largest(rules.PageLimit)
    assert schema_of("Permissions")["items"]["enum"] == list(get_args(rules.Permission))
    change = schema_of("AppChange")["properties"]
    assert change["type"]["pattern"] == _pattern(rules.AppType)
    assert change["requests_per_minute"]["maximum"] == _largest(rules.CallsPerMinute)
    assert change["max_tables"]["maximum"] == _largest(rules.TableCount)
    assert change["max_bytes"]["maximum"] == _largest(rules.StorageBytes)
    for table in ("NewTable", "TableChange"):
        assert schema_of(table)["properties"]["minute_limit"]["maximum"] == _largest(rules.CallsPerMinute)
    overlap = schema_of("Rotation")["properties"]["overlap_seconds"]
    assert overlap["maximum"] == _largest(rules.OverlapSeconds)
    request = schema_of("CredentialRequest")["properties"]
    assert request["ttl_seconds"]["maximum"] == _largest(rules.SessionSeconds)


def _pattern(rule: Any) -> str:
    return msgspec.json.schema(rule)["pattern"].replace(r"\Z", "$")


def _largest(rule: Any) -> int:
    return msgspec.json.schema(rule)["maximum"]


def examples() -> list[tuple[dict, object]]:
    found = []

    def look(node: object) -> None:
        if isinstance(node, dict):
            if "example" in node and "schema" in node:
                found.append((node["schema"], node["example"]))
            for each in node.values():
                look(each)
        elif isinstance(node, list):
            for each in node:
                look(each)

    look(DOCUMENT)
    return found


@pytest.mark.parametrize(("schema", "example"), examples(), ids=lambda value: json.dumps(value)[:40])
def test_the_examples_match_their_schemas(schema, example):
    Draft202012Validator({**schema, "components": DOCUMENT["components"]}).validate(example)
