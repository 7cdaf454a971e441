"""Typical mistakes in lists, increments, touches, batches and conditions, each with the gateway's answer."""

from typing import Any

from tests.contract.mistake import Mistake

KEY = {"key": "k"}
TAG = '"FJ2a0_"'


def of_list(code: str, detail: str, **fields: Any) -> Mistake:
    return Mistake(400, code, detail, operation="list", body=fields)


def of_increment(detail: str, by: Any) -> Mistake:
    return Mistake(400, "invalid_by", detail, operation="increment", body=KEY | {"by": by})


def of_batch(code: str, detail: str, operations: Any, warning: str | None = None) -> Mistake:
    return Mistake(400, code, detail, warning, operation="batch", body={"operations": operations})


def of_condition(detail: str, operation: str = "put", **fields: str) -> Mistake:
    headers = {name.replace("_", "-"): value for name, value in fields.items()}
    body = {"key": "k", "value": 1} if operation == "put" else KEY
    return Mistake(400, "invalid_precondition", detail, operation=operation, body=body, headers=headers)


LISTS = {
    "null as prefix": of_list("invalid_prefix", "prefix: null, not a string", prefix=None),
    "a prefix that is too long": of_list(
        "invalid_prefix", "prefix: 513 bytes, at most 512", prefix="k" * 513
    ),
    "a limit of 0": of_list("invalid_limit", "limit: 0, at least 1", limit=0),
    "a large limit": of_list("invalid_limit", "limit: 1001, at most 1000", limit=1001),
    "text as limit": of_list("invalid_limit", "limit: a string, not written as an integer", limit="10"),
    "a key as cursor": of_list(
        "invalid_cursor",
        "cursor: not one of this table and prefix; list without a cursor to start again",
        cursor="user:42",
    ),
    "a number as cursor": of_list("invalid_cursor", "cursor: a number, not a string", cursor=1),
    "text as values": of_list("invalid_values", "values: a string, not true or false", values="true"),
}

COUNTERS = {
    "a fraction as by": of_increment("by: a number, not written as an integer", 1.0),
    "text as by": of_increment("by: a string, not written as an integer", "1"),
    "a large by": of_increment("by: 9007199254740992, at most 9007199254740991", 2**53),
    "a touch without a TTL": Mistake(
        400,
        "invalid_ttl",
        "ttlSeconds: missing, an integer, or null for no expiry",
        operation="touch",
        body=KEY,
    ),
}

BATCHES = {
    "no operations": Mistake(
        400,
        "invalid_operations",
        "operations: missing",
        'unknown field "ops"',
        operation="batch",
        body={"ops": []},
    ),
    "an empty batch": of_batch("invalid_operations", "operations: empty, at least 1", []),
    "26 operations": of_batch("invalid_operations", "operations: 26, at most 25", [KEY] * 26),
    "one operation without a list": of_batch(
        "invalid_operations", "operations: an object, not an array", {"op": "get"} | KEY
    ),
    "a key as operation": of_batch("invalid_operations", "operations[0]: a string, not an object", ["k"]),
    "no op": of_batch("invalid_operations", "operations[0].op: missing", [KEY]),
    "an increment in a batch": of_batch(
        "invalid_operations", "operations[0].op: not put, get or delete", [{"op": "increment"} | KEY]
    ),
    "no key in a batch": of_batch(
        "invalid_key", "operations[1].key: missing", [{"op": "get"} | KEY, {"op": "get"}]
    ),
    "no value in a batch": of_batch(
        "invalid_value",
        "operations[0].value: missing",
        [{"op": "put", "val": 1} | KEY],
        'operations[0]: unknown field "val": did you mean "value"?',
    ),
    "an etag without quotes in a batch": of_batch(
        "invalid_precondition",
        "operations[0].ifMatch: not * or the ETag of an answer, quotes included",
        [{"op": "delete", "ifMatch": "FJ2a0"} | KEY],
    ),
}

CONDITIONS = {
    "an etag without quotes": of_condition(
        "If-Match: not * or the ETag of an answer, quotes included", If_Match="FJ2a0"
    ),
    "a weak etag": of_condition(
        "If-Match: a weak tag; send the ETag of an answer as it is", If_Match=f"W/{TAG}"
    ),
    "two etags": of_condition("If-Match: several tags, only one is allowed", If_Match=f"{TAG}, {TAG}"),
    "both conditions": of_condition(
        "If-Match, If-None-Match: both were sent, only one is allowed", If_Match=TAG, If_None_Match="*"
    ),
    "an etag in If-None-Match": of_condition("If-None-Match: only * is allowed", If_None_Match=TAG),
    "a conditional get": of_condition(
        "If-None-Match: sent with get, only put allows it", "get", If_None_Match="*"
    ),
    "a conditional increment": of_condition(
        "If-Match: sent with increment, only put, delete and touch allow it", "increment", If_Match=TAG
    ),
    "an etag of no entry": Mistake(
        412, "precondition_failed", "there is no entry under the key", headers={"If-Match": TAG}
    ),
}

OPERATION_MISTAKES = LISTS | COUNTERS | BATCHES | CONDITIONS
