"""The OpenAPI document names the refusals that the control plane gives, and no others."""

import pytest

from tests.opsplane.openapi import documented_codes

CONTROL = "/v1/orgs/acme/apps/blog"
TABLES = f"{CONTROL}/services/kvs/tables"

REFUSED = {
    "invalid_name": ("POST", TABLES, {"name": "a b"}),
    "invalid_minute_limit": ("POST", TABLES, {"name": "a", "minute_limit": 0}),
    "unsupported_app_type": ("POST", "/v1/orgs/acme/apps/site/services/kvs/tables", {"name": "a"}),
    "invalid_overlap_seconds": ("POST", f"{TABLES}/posts/rotate", {"overlap_seconds": -1}),
    "invalid_cursor": ("POST", f"{TABLES}/posts/upgrade", {"cursor": 1}),
    "invalid_type": ("PUT", CONTROL, {}),
    "invalid_requests_per_minute": ("PUT", CONTROL, {"type": "api", "requests_per_minute": "1"}),
    "invalid_max_tables": ("PUT", CONTROL, {"type": "api", "max_tables": True}),
    "invalid_max_bytes": ("PUT", CONTROL, {"type": "api", "max_bytes": 0}),
    "unknown_parameter": ("GET", f"{CONTROL}?environment=x", None),
    "invalid_ttl": ("POST", "/v1/credentials", {"role": "x", "ttl_seconds": 0}),
    "role_not_approved": ("POST", "/v1/credentials", {"role": "x"}),
    "invalid_limit": ("GET", "/v1/orgs?limit=0", None),
    "invalid_after": ("GET", "/v1/orgs/acme/apps?after=", None),
    "invalid_range": ("GET", f"{CONTROL}/usage?range=year", None),
    "no_usage": ("GET", f"{CONTROL}/usage", None),
    "invalid_json": ("PUT", CONTROL, []),
    "app_not_found": ("GET", f"{CONTROL}x", None),
    "table_not_found": ("DELETE", f"{TABLES}/none", None),
    "table_exists": ("POST", TABLES, {"name": "posts"}),
    "table_limit_reached": ("POST", TABLES, {"name": "fourth"}),
    "too_many_tokens": ("POST", f"{TABLES}/second/rotate", {"overlap_seconds": 60}),
    "declared_app": ("DELETE", "/v1/orgs/acme/apps/shop", None),
    "not_found": ("GET", "/v2", None),
    "method_not_allowed": ("POST", CONTROL, None),
    "body_too_large": ("PUT", CONTROL, b" " * 70_000),
}
ELSEWHERE = {
    "missing_token", "invalid_token", "bad_request", "request_timeout", "session_credentials_disabled",
    "internal_error", "auth_unavailable", "not_allowed", "overloaded", "shutting_down", "app_exists",
    "usage_unavailable", "invalid_host", "old_replicas", "storage_unavailable", "table_needs_upgrade",
}  # fmt: skip
"""Refusals that need other fields, a broken connection, other settings or a fault; tested elsewhere."""


@pytest.fixture
async def operated(gateway):
    """A gateway with an app that has all its tables, one with all its tokens, and an app that gets none."""
    await gateway.manage("PUT", CONTROL, {"type": "api"})
    for name in ("posts", "second", "third"):
        await gateway.manage("POST", TABLES, {"name": name})
    for _ in range(7):
        await gateway.manage("POST", f"{TABLES}/second/rotate", {"overlap_seconds": 60})
    await gateway.manage("PUT", "/v1/orgs/acme/apps/site", {"type": "web"})
    return gateway


@pytest.mark.parametrize("code", REFUSED)
async def test_each_documented_refusal_of_the_control_plane_can_be_provoked(operated, code):
    method, path, body = REFUSED[code]
    assert (await operated.manage(method, path, body)).error == code


def test_no_other_refusal_of_the_control_plane_is_documented():
    assert documented_codes("control") == REFUSED.keys() | ELSEWHERE
