"""The schema of the chart is as `make chart` writes it, and knows what the gateway knows."""

import json
from functools import cache
from typing import Any

import pytest
import yaml

from tests.project.chart import values, values_schema
from tests.project.chart.configuration import SECRETS, schema_of_configuration
from tests.support.repository import ROOT

GOOD = sorted((ROOT / "tests/config/good").glob("*.yaml"))
WRONG = [
    ({"regoin": "eu-central-1"}, "'regoin' was unexpected"),
    ({"region": "Frankfurt"}, "'Frankfurt' does not match"),
    ({"region": None}, "None is not of type 'string'"),
    ({"store": {"kind": "redis", "url": "redis://redis:6379", "table": "kvs"}}, "'table' was unexpected"),
    ({"store": {"kind": "redis"}}, "'url' is a required property"),
    ({"store": {"kind": "files"}}, "'files' is not one of"),
    ({"store": {"kind": "redis", "url": "redis://:secret@redis:6379"}}, "does not match"),
    ({"control": {"tokens": ["a-token-that-is-written-down"]}}, "does not match"),
    ({"control": {"tokens": [{"name": "team", "token": "${TEAM}"}]}}, "'allow' is a required property"),
    ({"control": {"tokens": [{"name": "team", "token": "${TEAM}", "allow": "some"}]}}, "does not match"),
    ({"signature": {"denied_networks": ["office"]}}, "does not match"),
    ({"rate_limit": {"requests_per_minute": 0}}, "less than the minimum"),
    ({"rate_limit": {"headers": "yes"}}, "does not match"),
    ({"edge": {"head_seconds": 0}}, "less than or equal to the minimum"),
    ({"shutdown": {"grace_seconds": "${GRACE}"}}, "is not of type 'number'"),
    ({"listen": {"ops": {"host": "0.0.0.0"}}}, "'ops' was unexpected"),
    ({"apps": [{"org": "acme"}]}, "'app' is a required property"),
    ({"tracing": {"headers": {"a b": "c"}}}, "does not match"),
]
BASE = {"region": "eu-central-1", "store": {"kind": "memory"}}


@cache
def validator() -> Any:
    import jsonschema  # noqa: PLC0415 - its import takes a second of CPU, in every worker

    return jsonschema.Draft7Validator(schema_of_configuration())


def test_the_schema_of_the_configuration_is_that_of_the_settings():
    assert values_schema.FILE.read_text() == values_schema.current()


def test_every_value_is_explained_by_a_comment():
    assert values.unexplained() == []


def test_the_schema_knows_every_value_and_no_other():
    schema = json.loads(values_schema.FILE.read_text())
    assert list(_names(yaml.safe_load(values.FILE.read_text()), schema)) == []


def _names(values, schema, path=""):
    """Values that the schema does not know, and its keys, but for those of `config`, that have no default."""
    known = schema.get("properties", {})
    for name, value in values.items():
        if name not in known:
            yield f"{path}{name}: not in the schema"
        elif isinstance(value, dict) and "properties" in known[name]:
            yield from _names(value, known[name], f"{path}{name}.")
    if not path.startswith(("config.", "resources.")):
        yield from (f"{path}{name}: no default" for name in known.keys() - values.keys() - {"global"})


@pytest.mark.parametrize("file", GOOD, ids=lambda file: file.stem)
def test_a_good_configuration_fits_the_schema_but_for_listeners_and_written_secrets(file):
    for mistake in validator().iter_errors({"store": BASE["store"]} | yaml.safe_load(file.read_text())):
        assert {"listen", "url", "headers", *SECRETS} & set(mistake.absolute_path), mistake.message


@pytest.mark.parametrize(("changes", "words"), WRONG, ids=[str(changes)[:60] for changes, _ in WRONG])
def test_a_wrong_configuration_does_not_fit_the_schema(changes, words):
    assert list(validator().iter_errors(BASE)) == []
    configuration = {**BASE, **changes}
    assert any(words in mistake.message for mistake in validator().iter_errors(configuration))
