"""Typical mistakes of developers, each with the answer that the gateway gives."""

import gzip
from typing import Any

from tests.contract.mistake import GOOD, Mistake
from tests.contract.operation_mistakes import OPERATION_MISTAKES
from tests.support.config import ROLE, TABLE_TOKEN

UNKNOWN_TOKEN = "kvs_5MiFe5L2EwnHr14WpWpClsHJaCp33ti3KOx22Qzlo7O1vHjlC"
BELONGS = "the table token belongs in X-KVS-Authorization, the signature in Authorization"
NO_TOKEN = "no such token: mistyped, rotated or deleted"
PATHS_IN_USE = "the paths are /v1/put, /v1/get, /v1/delete, /v1/list, /v1/increment, /v1/touch, /v1/batch"
ARRIVED = "wrong secret, or the request was changed after it was signed: "


def no_path(path: str, detail: str) -> Mistake:
    return Mistake(404, "not_found", f"no such path: {detail}", path=path)


def unsigned(code: str, detail: str, **options: Any) -> Mistake:
    """A call that layer 1 refuses."""
    return Mistake(403, code, detail, **options)


def bad_token(token: str | None, detail: str) -> Mistake:
    """A missing or invalid table token."""
    return Mistake(401, "invalid_token" if token else "missing_token", detail, token=token)


def malformed(code: str, detail: str, body: Any, warning: str | None = None, **options: Any) -> Mistake:
    return Mistake(400, code, detail, warning, body=body, **options)


def app(**fields: Any) -> dict[str, Any]:
    table = {"name": "sessions", "token": TABLE_TOKEN} | fields.pop("table", {})
    return {"apps": [{"org": "acme", "app": "shop", "type": "api", "tables": [table]} | fields]}


PATHS = {
    "a trailing slash": no_path("/v1/put/", "did you mean /v1/put?"),
    "the version twice": no_path("/v1/v1/get", "did you mean /v1/get?"),
    "no version": no_path("/delete", "did you mean /v1/delete?"),
    "upper case": no_path("/v1/PUT", "did you mean /v1/put?"),
    "two slashes": no_path("//v1/put", "did you mean /v1/put?"),
    "another verb": no_path("/v1/set", PATHS_IN_USE),
    "the bare address": no_path("/", PATHS_IN_USE),
    "a key in the path": no_path("/v1/get/user:1", PATHS_IN_USE),
    "GET": Mistake(405, "method_not_allowed", "method: GET, allowed: POST", method="GET"),
    "DELETE": Mistake(405, "method_not_allowed", "method: DELETE, allowed: POST", method="DELETE"),
    "a large body": Mistake(
        413, "body_too_large", "body: 131073 bytes, at most 131072", body=b" " * 131_073, signer=None
    ),
}

SIGNATURES = {
    "nothing at all": unsigned(
        "missing_signature",
        "Authorization: missing, sign the request with AWS Signature V4 for execute-api",
        signer=None,
        token=None,
    ),
    "no signature but a token": unsigned(
        "missing_signature",
        "the table token alone is not enough: sign the request with AWS Signature V4 for execute-api",
        signer=None,
    ),
    "the token in Authorization": unsigned(
        "incomplete_signature",
        BELONGS,
        signer=None,
        token=None,
        late_headers={"Authorization": f"Bearer {UNKNOWN_TOKEN}"},
    ),
    "the bare token in Authorization": unsigned(
        "incomplete_signature", BELONGS, signer=None, late_headers={"Authorization": UNKNOWN_TOKEN}
    ),
    "a presigned URL": unsigned(
        "missing_signature",
        "presigned URLs are not supported: the signature belongs in Authorization",
        signer=None,
        path="/v1/put?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=00",
    ),
    "basic authentication": unsigned(
        "incomplete_signature",
        "Authorization must use the algorithm AWS4-HMAC-SHA256.",
        signer=None,
        late_headers={"Authorization": "Basic YTpi"},
    ),
    "another region": unsigned(
        "invalid_region", "region: us-east-1, allowed: eu-central-1", signer={"region": "us-east-1"}
    ),
    "no region": unsigned("invalid_region", "region: empty, allowed: eu-central-1", signer={"region": ""}),
    "an undefined region": unsigned(
        "invalid_region", "region: undefined, allowed: eu-central-1", signer={"region": "undefined"}
    ),
    "another service": unsigned(
        "invalid_service", "service: lambda, allowed: execute-api", signer={"service": "lambda"}
    ),
    "a clock that is slow": unsigned(
        "signature_expired",
        "signed 3600 s ago, at most 300: sign each call again, and check this machine's clock",
        clock_off_seconds=-3600,
    ),
    "a clock that is fast": unsigned(
        "signature_expired",
        "signed 301 s in the future, at most 300: check this machine's clock",
        clock_off_seconds=301,
    ),
    "a signature used again later": unsigned(
        "signature_expired",
        "signed 600 s ago, at most 300: sign each call again, and check this machine's clock",
        wait_seconds=600,
    ),
    "a proxy that drops the date": unsigned(
        "incomplete_signature",
        "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header.",
        late_headers={"X-Amz-Date": None},
    ),
    "an AWS header added after signing": unsigned(
        "incomplete_signature",
        "'x-amz-trace' must be a 'SignedHeader' in the AWS Authorization.",
        late_headers={"X-Amz-Trace": "1"},
    ),
    "an unsigned payload": unsigned(
        "incomplete_signature",
        "X-Amz-Content-Sha256 must be the hash of the body.",
        signer={"extra": {"X-Amz-Content-SHA256": "UNSIGNED-PAYLOAD"}},
    ),
    "an unknown key": unsigned(
        "invalid_credentials",
        "AKIAIOSFODNN7EXAMPLE: not an access key of this gateway",
        signer={"access_key_id": "AKIAIOSFODNN7EXAMPLE"},
    ),
    "key and secret swapped": unsigned(
        "invalid_credentials",
        "Credential: not an access key of this gateway",
        signer={
            "access_key_id": "wJalrXUtnFEMI-K7MDENG-bPxRfiCYEXAMPLEKEY",
            "secret_access_key": "AKIDEXAMPLE",
        },
    ),
    "a session without its token": unsigned(
        "invalid_credentials",
        "ASIAIOSFODNN7EXAMPLE: temporary credentials; send their x-amz-security-token",
        signer={"access_key_id": "ASIAIOSFODNN7EXAMPLE"},
    ),
    "a session of AWS itself": unsigned(
        "invalid_credentials",
        "session token: not issued by this gateway",
        signer={"access_key_id": "ASIAIOSFODNN7EXAMPLE", "session_token": "IQoJb3JpZ2luX2VjEXAMPLE"},
    ),
    "a static key with a session token": unsigned(
        "invalid_credentials",
        "AKIDEXAMPLE: a static access key; send it without x-amz-security-token",
        signer={"session_token": "IQoJb3JpZ2luX2VjEXAMPLE"},
    ),
    "a session token of another key": unsigned(
        "invalid_credentials",
        "the session token belongs to another access key",
        session={},
        signer={"access_key_id": "ASIAIOSFODNN7EXAMPLE"},
    ),
    "a stale session token": unsigned(
        "invalid_credentials",
        "session token expired at 2026-11-20T00:01:00.000Z",
        session={"ttl_seconds": 60},
        wait_seconds=120,
    ),
    "a wrong secret": unsigned(
        "signature_mismatch",
        f"{ARRIVED}Host HOST, path /v1/put and a body of 24 bytes arrived",
        signer={"secret_access_key": "test-secret-access-key "},
    ),
    "an altered body": unsigned(
        "signature_mismatch",
        f"{ARRIVED}Host HOST, path /v1/put and a body of 21 bytes arrived",
        late_body=b'{"key":"k","value":1}',
    ),
    "a Host that a proxy rewrote": unsigned(
        "signature_mismatch",
        f"{ARRIVED}Host gateway.internal:8080, path /v1/put and a body of 24 bytes arrived",
        late_headers={"Host": "gateway.internal:8080"},
    ),
    "a Host that a proxy rewrote and forwards": unsigned(
        "signature_mismatch",
        "Host: 10.0.0.7:8080 arrived, the client sent kvs.example.com: proxies must keep the signed Host",
        late_headers={"Host": "10.0.0.7:8080", "X-Forwarded-Host": "kvs.example.com"},
    ),
    "a body that is not the one hashed": unsigned(
        "signature_mismatch",
        "body: the 24 bytes that arrived do not match x-amz-content-sha256",
        signer={"extra": {"X-Amz-Content-SHA256": "0" * 64}},
    ),
    "a Host that is not public": unsigned(
        "invalid_host",
        "Host: HOST, allowed: kvs.example.com",
        configuration={"public_hosts": ["kvs.example.com"]},
    ),
    "a role that is not approved": unsigned(
        "caller_not_approved",
        "not an approved role: arn:aws:iam::123456789012:role/managed-app-test",
        configuration={"signature": {"denied_roles": [ROLE]}},
    ),
    "credentials of another environment": unsigned(
        "caller_not_approved",
        "credentials: issued for acme/shop/staging, the table belongs to another app environment",
        session={"org": "acme", "app": "shop", "env": "staging"},
    ),
}

TOKENS = {
    "no token": bad_token(None, "X-KVS-Authorization: missing, send Bearer and the table token"),
    "an undefined token": bad_token(
        "Bearer undefined", 'the token is "undefined": the variable that holds it is not set'
    ),
    "None for a token": bad_token(
        "Bearer None", 'the token is "None": the variable that holds it is not set'
    ),
    "an empty token": bad_token("Bearer ", "the token is empty: set the variable that holds it"),
    "a variable's name": bad_token(
        "Bearer $SERVICE_KVS_TOKEN_SESSIONS", "the token is the name of a variable, not its value"
    ),
    "no Bearer": bad_token(TABLE_TOKEN, "X-KVS-Authorization: must be Bearer, a space and the table token"),
    "Basic": bad_token(
        f"Basic {TABLE_TOKEN}", "X-KVS-Authorization: must be Bearer, a space and the table token"
    ),
    "Bearer twice": bad_token(f"Bearer Bearer {TABLE_TOKEN}", "X-KVS-Authorization: Bearer is written twice"),
    "a mistyped token": bad_token(f"Bearer {UNKNOWN_TOKEN[:-1]}x", NO_TOKEN),
    "a token that is cut": bad_token(f"Bearer {UNKNOWN_TOKEN[:-1]}", NO_TOKEN),
    "a rotated token": bad_token(f"Bearer {UNKNOWN_TOKEN}", NO_TOKEN),
    "a token in quotes": bad_token(f'Bearer "{UNKNOWN_TOKEN}"', "not a table token: it begins with kvs_"),
    "a control token": bad_token("Bearer test-control-token", "not a table token: it begins with kvs_"),
    "a suspended app": Mistake(
        403,
        "binding_inactive",
        "the app environment is suspended: its operator can resume it",
        configuration=app(status="inactive"),
    ),
    "a static web app": Mistake(
        403,
        "unsupported_app_type",
        "app type: web, allowed: api, sse, web-ssr",
        configuration=app(type="web"),
    ),
    "too many calls of a table": Mistake(
        429,
        "rate_limited",
        "limit of the table, 2 per minute",
        calls_before=2,
        configuration=app(table={"minute_limit": 2}),
    ),
    "too many calls of an environment": Mistake(
        429,
        "rate_limited",
        "limit of the app environment, 3 per minute",
        calls_before=3,
        configuration=app(requests_per_minute=3),
    ),
}

CONTENT = {
    "no content type": malformed(
        "invalid_content_type",
        "Content-Type: missing, allowed: application/json",
        GOOD,
        headers={"Content-Type": ""},
    ),
    "a form": malformed(
        "invalid_content_type",
        "Content-Type: application/x-www-form-urlencoded, allowed: application/json",
        b"key=k",
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    ),
    "gzip": malformed(
        "invalid_content_type",
        "Content-Encoding: gzip is not supported",
        gzip.compress(b"{}"),
        headers={"Content-Encoding": "gzip"},
    ),
    "no body": malformed("invalid_json", "not JSON: the body is empty", b""),
    "a form that says it is JSON": malformed(
        "invalid_json", "not JSON: invalid character at byte 0", b"key=k"
    ),
    "Python's repr": malformed("invalid_json", "not JSON: a single quote at byte 1", b"{'key': 'k'}"),
    "NaN": malformed("invalid_json", "not JSON: NaN at byte 18", b'{"key":"","value":NaN}'),
    "Python's None": malformed("invalid_json", "not JSON: None at byte 19", b'{"key":"k","value":None}'),
    "a trailing comma": malformed(
        "invalid_json", "not JSON: trailing comma in object at byte 11", b'{"key":"k",}'
    ),
    "half a body": malformed("invalid_json", "not JSON: it ends early, at byte 18", b'{"key":"k","value"'),
    "latin-1": malformed(
        "invalid_json", "not JSON: not UTF-8 at byte 11", '{"key":"caf\xe9"}'.encode("latin-1")
    ),
    "a byte order mark": malformed(
        "invalid_json", "not JSON: a byte order mark at byte 0", '\ufeff{"key":"k"}'.encode()
    ),
    "JSON twice": malformed("invalid_json", "not a JSON object: a string", rb'"{\"key\":\"k\"}"'),
    "a list of entries": malformed("invalid_json", "not a JSON object: an array", [GOOD]),
    "no key": malformed("invalid_key", "key: missing", {"value": 1}),
    "a capital Key": malformed(
        "invalid_key",
        "key: missing",
        {"Key": "k", "value": 1},
        'unknown field "Key": did you mean "key"?',
    ),
    "a number as key": malformed("invalid_key", "key: a number, not a string", {"key": 7}),
    "null as key": malformed("invalid_key", "key: null, not a string", {"key": None}),
    "an empty key": malformed("invalid_key", "key: empty, at least 1 byte", {"key": ""}),
    "a key that is too long": malformed("invalid_key", "key: 513 bytes, at most 512", {"key": "k" * 513}),
    "a key that is too long in UTF-8": malformed(
        "invalid_key", "key: 514 bytes, at most 512", {"key": "\xe9" * 257}
    ),
    "a key with half a character": malformed(
        "invalid_key", "key: half of a surrogate pair", rb'{"key":"\ud83d"}'
    ),
    "no value": malformed("invalid_value", "value: missing", {"key": "k"}),
    "val for value": malformed(
        "invalid_value",
        "value: missing",
        {"key": "k", "val": 1},
        'unknown field "val": did you mean "value"?',
    ),
    "a value that is too long": malformed(
        "invalid_value", "value: 65537 bytes, at most 65536", {"key": "k", "value": "v" * 65_535}
    ),
    "a TTL that is too short": malformed(
        "invalid_ttl", "ttlSeconds: 59, at least 60", GOOD | {"ttlSeconds": 59}
    ),
    "a negative TTL": malformed("invalid_ttl", "ttlSeconds: -1, at least 60", GOOD | {"ttlSeconds": -1}),
    "milliseconds as TTL": malformed(
        "invalid_ttl", "ttlSeconds: 86400000, at most 31536000", GOOD | {"ttlSeconds": 86_400_000}
    ),
    "text as TTL": malformed(
        "invalid_ttl", "ttlSeconds: a string, not written as an integer", GOOD | {"ttlSeconds": "60"}
    ),
    "a fraction as TTL": malformed(
        "invalid_ttl", "ttlSeconds: a number, not written as an integer", GOOD | {"ttlSeconds": 60.0}
    ),
    "null as TTL": malformed(
        "invalid_ttl", "ttlSeconds: null, not written as an integer", GOOD | {"ttlSeconds": None}
    ),
}

SUCCESSES = {
    "ttl for ttlSeconds": Mistake(
        200, None, "", 'unknown field "ttl": did you mean "ttlSeconds"?', body=GOOD | {"ttl": 3600}
    ),
    "ttl_seconds for ttlSeconds": Mistake(
        200,
        None,
        "",
        'unknown field "ttl_seconds": did you mean "ttlSeconds"?',
        body=GOOD | {"ttl_seconds": 60},
    ),
    "two unknown fields": Mistake(
        200,
        None,
        "",
        'unknown field "table"; unknown field "expires": did you mean "ttlSeconds"?',
        body=GOOD | {"table": "sessions", "expires": 60},
    ),
    "a value in a get": Mistake(200, None, "", 'unknown field "value"', operation="get"),
    "a token in the body": Mistake(
        200, None, "", "unknown field of 53 characters", body=GOOD | {UNKNOWN_TOKEN: 1}
    ),
}

MISTAKES = PATHS | SIGNATURES | TOKENS | CONTENT | OPERATION_MISTAKES | SUCCESSES
