"""Recording rules and alerts: promtool unit tests prove that each alert fires only in its own case."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from gateway.config.settings import ShutdownSettings
from tests.support.prometheus import program_or_skip
from tests.support.refusals import all_refusals
from tests.system.deploy.installations import DEPLOY
from tests.system.deploy.monitoring import UNIT_TESTS, panel_queries, rule_groups, rules, spec_of
from tests.system.deploy.promql import Names, names_in

NEITHER = {"storage_limit_reached"}
"""The code of a limit that an operator set: neither unauthorized nor an error."""

DEADLINE_SECONDS = 3  # a head that has begun gets one more second, then a call of DynamoDB takes at most two


def promtool(*arguments: str | Path) -> str:
    done = subprocess.run(
        [program_or_skip("promtool"), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def fires(case: dict) -> bool:
    return bool(case.get("exp_alerts"))


def cases(*, of: str) -> list[dict]:
    """Returns the expectations of the unit tests for one alert."""
    return [
        case
        for file in UNIT_TESTS
        for test in yaml.safe_load(file.read_text())["tests"]
        for case in test.get("alert_rule_test", [])
        if case["alertname"] == of
    ]


@pytest.mark.parametrize("file", UNIT_TESTS, ids=lambda file: file.stem)
def test_rules_pass_their_promtool_unit_tests(file, tmp_path):
    """Compares only the summary: no other annotation depends on the firing series."""
    groups = rule_groups()
    for rule in (rule for group in groups for rule in group["rules"] if "alert" in rule):
        rule["annotations"] = {"summary": rule["annotations"]["summary"]}
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": groups}))
    (tmp_path / file.name).write_text(file.read_text())
    promtool("test", "rules", tmp_path / file.name)


def test_promtool_accepts_the_rules(tmp_path):
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": rule_groups()}))
    promtool("check", "rules", tmp_path / "rules.yaml")


def test_every_query_of_a_dashboard_can_be_parsed(tmp_path):
    as_rules = [
        {"record": f"query:{number}", "expr": query.expression}
        for number, query in enumerate(panel_queries())
    ]
    file = tmp_path / "queries.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": as_rules}]}))
    promtool("check", "rules", file)


@pytest.mark.parametrize("alert", rules("alert"))
def test_an_alert_has_a_case_that_fires_and_one_that_does_not(alert):
    outcomes = {fires(case) for case in cases(of=alert)}
    assert outcomes == {True, False}


@pytest.mark.parametrize("record", rules("record"))
def test_a_recording_rule_has_an_expected_value(record):
    (file,) = (file for file in UNIT_TESTS if file.stem == "recording")
    asked = [
        case["expr"]
        for test in yaml.safe_load(file.read_text())["tests"]
        for case in test["promql_expr_test"]
    ]
    assert any(record in names_in(expression).selected for expression in asked)


def test_a_healthy_gateway_exposes_every_series_that_alerts_use():
    (file,) = (file for file in UNIT_TESTS if file.stem == "healthy")
    (day,) = yaml.safe_load(file.read_text())["tests"]
    there = {series["series"].split("{")[0] for series in day["input_series"]}
    recorded = rules("record")
    asked = {name for rule in rules("alert").values() for name in names_in(rule["expr"]).selected}
    for name in asked & recorded.keys():
        asked = asked - {name} | names_in(recorded[name]["expr"]).selected.keys()
    assert asked - recorded.keys() <= there


def test_alerts_page_only_for_current_failures_of_callers():
    paging = {name for name, rule in rules("alert").items() if rule["labels"]["severity"] == "page"}
    assert paging == {"KvsNoReplica", "KvsErrorBudgetBurnsFast", "KvsDependencyDown"}
    assert {rule["labels"]["severity"] for rule in rules("alert").values()} == {"page", "ticket"}


@pytest.mark.parametrize("alert", rules("alert"))
def test_an_alert_has_summary_description_and_runbook_link(alert):
    annotations = rules("alert")[alert]["annotations"]
    assert set(annotations) == {"summary", "description", "runbook_url"}
    assert "{{" not in annotations["description"]
    assert len(annotations["description"]) > len(annotations["summary"]) / 2


@pytest.mark.parametrize(
    ("record", "statuses"), [("kvs:auth_refusals:rate5m", {401, 403}), ("kvs:errors:rate5m", range(500, 600))]
)
def test_codes_in_a_rule_are_exactly_those_of_its_statuses(record, statuses):
    (pattern,) = re.findall(r'code=~\s*"([^"]+)"', rules("record")[record]["expr"])
    matched = {kind.code for kind in all_refusals() if re.fullmatch(pattern, kind.code)}
    assert matched == {kind.code for kind in all_refusals() if kind.status in statuses} - NEITHER


def test_requests_of_a_range_are_summed_by_the_interval_of_the_usage_rules():
    (interval,) = (group["interval"] for group in rule_groups() if group["name"] == "kvs-usage")
    summed = [query.expression for query in panel_queries() if "sum_over_time" in query.expression]
    assert summed
    for expression in summed:
        factors = re.findall(r"sum_over_time\([^)]*\) \* (\d+)", expression)
        assert factors == [interval.removesuffix("s")] * expression.count("sum_over_time")


def test_a_replica_that_drains_is_scraped_once_more_within_its_grace():
    usage = next(
        each for each in spec_of("podmonitor.yaml")["podMetricsEndpoints"] if "usage" in each["path"]
    )
    shutdown = ShutdownSettings()
    last_answer_seconds = shutdown.drain_seconds + DEADLINE_SECONDS
    assert last_answer_seconds + float(usage["interval"].removesuffix("s")) < shutdown.grace_seconds


def test_limits_in_alerts_are_those_of_the_manifests():
    deployment = yaml.safe_load((DEPLOY / "base" / "deployment.yaml").read_text())
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["resources"]["limits"]["memory"] == "256Mi"
    assert rules("alert")["KvsMemoryNearLimit"]["expr"].endswith("> 0.85 * 256 * 1024 * 1024")


def test_a_drain_is_too_long_when_more_scrapes_saw_it_than_fit_into_the_grace():
    service = next(
        each for each in spec_of("podmonitor.yaml")["podMetricsEndpoints"] if "service" in each["path"]
    )
    fitting = ShutdownSettings().grace_seconds // float(service["interval"].removesuffix("s"))
    assert rules("alert")["KvsDrainTooLong"]["expr"] == f"sum_over_time(kvs_draining[10m]) > {fitting:.0f}"


def test_a_scrape_is_missing_after_three_intervals():
    intervals = {each["interval"] for each in spec_of("podmonitor.yaml")["podMetricsEndpoints"]}
    assert intervals == {"15s"}
    assert rules("alert")["KvsScrapeMissing"]["for"] == "1m"


def test_the_names_in_an_expression_are_found():
    assert names_in(
        'sum by (a, b) (rate(x_total{c="d{", e=~"f"}[5m])) / on (g) y:z > 1e3 and z offset 1h'
    ) == Names(selected={"x_total": {"c", "e"}, "y:z": set(), "z": set()}, grouped={"a", "b", "g"})
