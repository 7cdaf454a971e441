"""No secret has two roles: each pair of places with one secret is a mistake at both, without its value."""

import json
from collections.abc import Callable
from hashlib import sha256
from itertools import combinations_with_replacement
from typing import Any

import pytest

from gateway.config.loading import parse
from gateway.config.problems import InvalidConfiguration
from tests.config.test_example import EXAMPLE

SECRET = "one-secret-of-more-than-32-characters"
ROLE = "arn:aws:iam::123456789012:role/managed-app-a"
CREDENTIALS = "signature.credentials"
BASE: dict[str, Any] = {
    "region": "eu-central-1",
    "listen": {"credentials": {}},
    "control": {"tokens": [{"name": "first", "token": "a-control-token-1", "allow": "all"}]},
    "workloads": [
        {"tokens": [{"token": "a-workload-token", "role": ROLE, "org": "acme", "app": "shop"}]},
    ],
    "signature": {
        "approved_roles": ["arn:aws:iam::123456789012:role/managed-app-*"],
        "credentials": {
            "static": [{"access_key_id": "AKID", "secret_access_key": "a-static-secret-1", "role": ROLE}],
            "session": {"master_keys": ["a-master-key-of-32-characters-or-more"]},
            "trusted_proxy": {"secret": ["a-secret-of-the-proxy"]},
        },
    },
    "store": {"kind": "redis", "url": "redis://127.0.0.1/0"},
    "counters": {"kind": "redis", "url": "redis+sentinel://127.0.0.1/main"},
    "tracing": {"headers": {"X-Other": "another-header"}},
    "apps": [{"org": "acme", "app": "shop", "type": "api", "tables": []}],
}  # fmt: skip

Place = Callable[[dict[str, Any]], str]
"""Puts the secret into a configuration once more, and returns its path."""


def _plain_control_token(tree: dict[str, Any]) -> str:
    return _append(tree["control"]["tokens"], SECRET, "control.tokens")


def _named_control_token(tree: dict[str, Any]) -> str:
    tokens = tree["control"]["tokens"]
    entry = {"name": f"team-{len(tokens)}", "token": SECRET, "allow": ["read"]}
    return _append(tokens, entry, "control.tokens")


def _workload_token(tree: dict[str, Any]) -> str:
    entry = {"tokens": [{"token": SECRET, "role": ROLE, "org": "acme", "app": "shop"}]}
    return _append(tree["workloads"], entry, "workloads") + ".tokens[0].token"


def _table_token(tree: dict[str, Any]) -> str:
    return _table(tree, "token", SECRET)


def _table_digest(tree: dict[str, Any]) -> str:
    return _table(tree, "token_sha256", sha256(SECRET.encode()).hexdigest())


def _static_secret(tree: dict[str, Any]) -> str:
    keys = tree["signature"]["credentials"]["static"]
    entry = {"access_key_id": f"AKID{len(keys)}", "secret_access_key": SECRET, "role": ROLE}
    return _append(keys, entry, f"{CREDENTIALS}.static") + ".secret_access_key"


def _master_key(tree: dict[str, Any]) -> str:
    keys = tree["signature"]["credentials"]["session"]["master_keys"]
    return _append(keys, SECRET, f"{CREDENTIALS}.session.master_keys")


def _proxy_secret(tree: dict[str, Any]) -> str:
    secrets = tree["signature"]["credentials"]["trusted_proxy"]["secret"]
    return _append(secrets, SECRET, f"{CREDENTIALS}.trusted_proxy.secret")


def _store_password(tree: dict[str, Any]) -> str:
    tree["store"]["url"] = f"redis://:{SECRET.replace('-', '%2D')}@127.0.0.1/0"
    return "store.url"


def _sentinel_password(tree: dict[str, Any]) -> str:
    tree["counters"]["sentinel"] = {"password": SECRET}
    return "counters.sentinel.password"


def _tracing_header(tree: dict[str, Any]) -> str:
    tree["tracing"]["headers"]["Api-Key"] = f"Bearer {SECRET}"
    return "tracing.headers"


PLACES: tuple[Place, ...] = (
    _plain_control_token, _named_control_token, _workload_token, _table_token, _table_digest, _static_secret,
    _master_key, _proxy_secret, _store_password, _sentinel_password, _tracing_header,
)  # fmt: skip
OUTWARD: tuple[Place, ...] = (_store_password, _sentinel_password, _tracing_header)
"""Secrets that the gateway sends: two that go to one kind of server may be equal."""


def _append(entries: list[Any], entry: Any, path: str) -> str:
    entries.append(entry)
    return f"{path}[{len(entries) - 1}]"


def _table(tree: dict[str, Any], key: str, value: str) -> str:
    tables = tree["apps"][0]["tables"]
    entry = {"name": f"table_{len(tables)}", key: value}
    return _append(tables, entry, "apps[0].tables") + f".{key}"


def _problems(tree: dict[str, Any]) -> dict[str, str]:
    try:
        parse(json.dumps(tree), {})
    except InvalidConfiguration as error:
        return {problem.path: problem.problem for problem in error.problems}
    return {}


def _copy(tree: Any) -> Any:
    return json.loads(json.dumps(tree))


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_a_secret_in_one_place_is_no_mistake(place):
    tree = _copy(BASE)
    place(tree)
    assert _problems(tree) == {}


PAIRS = [
    pair
    for pair in combinations_with_replacement(PLACES, 2)
    if not (pair[0] is pair[1] and pair[0] in OUTWARD) and pair != (_store_password, _sentinel_password)
]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair[0].__name__}-{pair[1].__name__}")
def test_one_secret_in_two_places_is_a_mistake_at_both_that_names_the_other(pair):
    tree = _copy(BASE)
    first, second = (place(tree) for place in pair)
    problems = _problems(tree)
    assert problems.keys() == {first, second}
    assert second in problems[first]
    assert first in problems[second]
    assert SECRET not in str(problems)


def test_one_secret_everywhere_is_reported_at_every_place():
    tree = _copy(BASE)
    paths = {place(tree) for place in PLACES}
    problems = _problems(tree)
    assert problems.keys() == paths
    assert SECRET not in str(problems)


def test_one_password_for_several_stores_is_no_mistake():
    tree = _copy(BASE)
    paths = [_store_password(tree), _sentinel_password(tree)]
    tree["counters"]["url"] = f"redis+sentinel://:{SECRET}@127.0.0.1/main"
    assert (len(paths), _problems(tree)) == (2, {})


@pytest.mark.parametrize("place", PLACES[:3] + PLACES[5:], ids=lambda place: place.__name__)
def test_a_table_token_has_no_other_role_even_if_its_table_is_not_declared(place):
    """Such a token may belong to a table that the control plane manages."""
    token = "kvs_5MiFe5L2EwnHr14WpWpClsHJaCp33ti3KOx22Qzlo7O1vHjlC"
    tree = _copy(BASE)
    path = place(tree)
    encoded = json.dumps(tree).replace(SECRET, token).replace(SECRET.replace("-", "%2D"), token)
    problems = _problems(json.loads(encoded))
    assert problems.keys() == {path}
    assert "has the form of a table token" in problems[path]


@pytest.mark.parametrize("place", PLACES[:4] + PLACES[5:8], ids=lambda place: place.__name__)
def test_no_secret_is_a_name_that_logs_show(place):
    for section in ("control", "signature"):
        tree = _copy(BASE)
        path = place(tree)
        if section == "control":
            tree["control"]["tokens"][0]["name"] = SECRET
            named = "control.tokens[0].name"
        else:
            tree["signature"]["credentials"]["static"][0]["access_key_id"] = SECRET
            named = f"{CREDENTIALS}.static[0].access_key_id"
        assert _problems(tree).keys() == {path, named}


def test_the_control_token_of_the_environment_has_no_other_role():
    tree = _copy(BASE)
    del tree["control"]
    path = _workload_token(tree)
    with pytest.raises(InvalidConfiguration) as caught:
        parse(json.dumps(tree), {"KVS_CONTROL_TOKEN": SECRET})
    assert [problem.path for problem in caught.value.problems] == ["control.tokens[0]", path]


def test_secrets_of_the_example_are_also_compared_as_set_by_the_environment():
    with pytest.raises(InvalidConfiguration) as caught:
        parse(EXAMPLE.read_text(), {"KVS_CONTROL_TOKEN": SECRET, "KVS_DEV_SECRET": SECRET})
    assert [problem.path for problem in caught.value.problems] == [
        "control.tokens[0]",
        f"{CREDENTIALS}.static[0].secret_access_key",
    ]
