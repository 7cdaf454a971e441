"""Rules and dashboards find their series in a real Prometheus that scrapes a running gateway."""

import asyncio
import re
import shutil
import subprocess
import time

import pytest
import yaml

from gateway.observability.catalogue import STORAGE_BYTES, STORAGE_ENTRIES, STORAGE_LIMIT
from tests.support.load import client_of
from tests.support.servers import wait_for
from tests.system.deploy.installations import DEPLOY
from tests.system.deploy.monitoring import label_queries, panel_queries, rules, runbook_queries
from tests.system.deploy.promql import names_in
from tests.system.deploy.runbook import script
from tests.system.deploy.scraped import scene_in, without_data

PATIENCE_SECONDS = 40.0
PROMETHEUS_OWN = {"ALERTS": {"alertname", "alertstate", "severity"}}
OF_SWEEPS = {
    each.name: {*each.labels, "namespace"} for each in (STORAGE_ENTRIES, STORAGE_BYTES, STORAGE_LIMIT)
}
"""The first sweep begins minutes after the start."""
WITHOUT_DATA = {
    # its baseline begins ten minutes ago
    ("operators", "Authentication refusals"): "offset 10m",
    ("tenants", "Used, by app environment"): "kvs_storage_bytes",
    ("tenants", "Bytes, entries and refusals, by app environment"): "max by",
}


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    with scene_in(tmp_path_factory.mktemp("scraped")) as scene:
        yield scene


@pytest.fixture(scope="module")
def still_without_data(scene):
    """Panel queries that returned nothing although calls of every kind were repeated."""
    missing = {query.expression for query in panel_queries()}
    expected = {query.expression for query in panel_queries() if is_expected_to_be_empty(query)}
    deadline = time.monotonic() + PATIENCE_SECONDS
    while missing - expected and time.monotonic() < deadline:
        asyncio.run(scene.call_in_every_way())
        missing = without_data(scene, missing)
    return missing


@pytest.fixture(scope="module")
def known(scene, still_without_data):
    """Labels by metric, after all series have been scraped."""
    return PROMETHEUS_OWN | OF_SWEEPS | scene.prometheus.labels_by_metric()


def is_expected_to_be_empty(query) -> bool:
    mark = WITHOUT_DATA.get((query.dashboard, query.panel))
    return mark is not None and mark in query.expression


def assert_names_exist(expression: str, known: dict[str, set[str]]) -> None:
    names = names_in(expression)
    for metric, labels in names.selected.items():
        assert metric in known, f"{metric} in {expression}"
        assert labels <= known[metric], f"{metric} has no {labels - known[metric]} in {expression}"
    made = {"class"} if "label_replace" in expression else set()
    there = made.union(*(known[metric] for metric in names.selected))
    assert names.grouped <= there, f"nothing has {names.grouped - there} in {expression}"


def test_every_query_of_a_panel_returns_data(still_without_data):
    found_nothing = [query for query in panel_queries() if query.expression in still_without_data]
    assert [str(query) for query in found_nothing if not is_expected_to_be_empty(query)] == []


def test_queries_listed_as_empty_are_evaluated():
    panels = {(query.dashboard, query.panel) for query in panel_queries() if is_expected_to_be_empty(query)}
    assert panels == WITHOUT_DATA.keys()


@pytest.mark.parametrize("query", panel_queries(), ids=str)
def test_a_query_names_metrics_and_labels_that_exist(query, known):
    assert_names_exist(query.expression, known)


@pytest.mark.parametrize("query", runbook_queries())
def test_a_query_of_the_runbook_names_metrics_and_labels_that_exist(query, known):
    assert_names_exist(query, known)


@pytest.mark.parametrize(
    "rule", [*rules("record").items(), *rules("alert").items()], ids=lambda rule: rule[0]
)
def test_a_rule_names_metrics_and_labels_that_exist(rule, known):
    assert_names_exist(rule[1]["expr"], known)


def test_the_query_of_the_autoscaler_names_metrics_and_labels_that_exist(known):
    scaled = yaml.safe_load((DEPLOY / "components/autoscaling-in-flight/scaledobject.yaml").read_text())
    (trigger,) = (each for each in scaled["spec"]["triggers"] if each["type"] == "prometheus")
    assert_names_exist(trigger["metadata"]["query"], known)


@pytest.mark.parametrize("record", rules("record"))
def test_a_recording_rule_records_data(record, known):
    assert record in known


def test_every_variable_has_values_to_choose_from(scene, still_without_data):
    for selector, label in label_queries():
        found = scene.prometheus.ask("series", **{"match[]": selector})
        assert all(series.get(label) for series in found), (selector, label)
        assert found


def test_every_rule_is_evaluated_without_an_error(scene):
    wait_for(
        lambda: all(rule["health"] != "unknown" for rule in scene.prometheus.rules()),
        "rules are not evaluated",
    )
    evaluated = scene.prometheus.rules()
    assert {rule["name"] for rule in evaluated} == rules("record").keys() | rules("alert").keys()
    assert [(rule["name"], rule["lastError"]) for rule in evaluated if rule["health"] != "ok"] == []


def test_every_metric_of_the_gateway_is_on_a_dashboard_or_in_a_rule(known):
    shown = {re.sub(r"_(bucket|sum|count|created)$", "", name) for name in known if name.startswith("kvs_")}
    asked = [query.expression for query in panel_queries()] + [
        rule["expr"] for rule in rules("record").values()
    ]
    used = {name for expression in asked for name in names_in(expression).selected}
    assert shown <= {re.sub(r"_(bucket|sum|count|created)$", "", name) for name in used}


def test_scraped_samples_suffice_for_a_bill(scene, still_without_data):
    """Start times and usage are scraped from different paths. A new series begins at 0."""

    def billed() -> int:
        bill = scene.bill()
        assert bill["warnings"] == []
        return sum(row["requests"] for row in bill["rows"])

    wait_for(lambda: 0 < scene.charged() == billed(), "what was charged is not billed")


if shutil.which("jq"):

    async def test_the_runbooks_script_lists_unused_tables(scene, still_without_data, tmp_path):
        """The script compares the control plane's list of tables with the samples in Prometheus."""
        async with client_of(scene.gateway) as gateway:
            await gateway.manage("PUT", "/v1/orgs/acme/apps/blog", {"type": "api"})
            await gateway.manage("POST", "/v1/orgs/acme/apps/blog/services/kvs/tables", {"name": "posts"})
        done = await asyncio.to_thread(
            subprocess.run,
            ["/bin/bash", "-euc", 'kvs() { kvs-gateway "$@"; }\n' + script("unused tables")],
            env=scene.commands_in(tmp_path),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert (done.returncode, done.stdout) == (0, "acme/blog/production/posts\n"), done.stderr
        assert (tmp_path / "used.txt").read_text().split() == [
            "acme/full/production/t",
            "acme/shop/production/carts",
            "acme/shop/production/sessions",
        ]


def test_each_path_is_a_target_of_its_own(scene):
    targets = scene.prometheus.query("up")
    assert {target["metric"]["endpoint"] for target in targets} == {"service", "usage"}
    assert len(targets) == 2
