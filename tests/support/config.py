"""The configuration that tests start from, and how they change it."""

from copy import deepcopy
from typing import Any

CONTROL_TOKEN = "test-control-token"
TABLE_TOKEN = "test-table-token"
OTHER_TABLE_TOKEN = "other-table-token"
ROLE = "arn:aws:iam::123456789012:role/managed-app-test"
MASTER_KEY = "test-master-key-of-at-least-32-characters"

BASE: dict[str, Any] = {
    "region": "eu-central-1",
    "listen": {"data": {"port": 0}, "ops": {"port": 0}, "control": {"port": 0}},
    "control": {"tokens": [CONTROL_TOKEN]},
    "signature": {
        "credentials": {
            "static": [
                {"access_key_id": "AKIDEXAMPLE", "secret_access_key": "test-secret-access-key", "role": ROLE}
            ],
            "session": {"master_keys": [MASTER_KEY]},
        }
    },
    "apps": [
        {
            "org": "acme",
            "app": "shop",
            "type": "api",
            "tables": [
                {"name": "sessions", "token": TABLE_TOKEN},
                {"name": "carts", "token": OTHER_TABLE_TOKEN},
            ],
        }
    ],
    "metering": {"first_sample_seconds": 0},
    "shutdown": {"drain_seconds": 0, "grace_seconds": 0},
}


def merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """`base` with `changes` laid over it; mappings are merged, everything else is replaced."""
    result = deepcopy(base)
    for key, value in changes.items():
        both_map = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if both_map else value
    return result


COUNTERS_APART = {"counters": {"kind": "memory"}}
"""A second store for the counters: a charge is a call of its own."""
