"""Contents of the monitoring component: rule groups, PodMonitor, dashboards and their queries."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.system.deploy.installations import DEPLOY

COMPONENT = DEPLOY / "components" / "monitoring"
RUNBOOK = DEPLOY.parent / "RUNBOOK.md"
DASHBOARDS = {
    file.stem: json.loads(file.read_text()) for file in sorted((COMPONENT / "dashboards").glob("*.json"))
}
UNIT_TESTS = sorted((Path(__file__).parent / "rules").glob("*.yaml"))

_VARIABLES = {
    "$__rate_interval": "1m",
    "$__range": "1m",
    **{f"${name}": ".*" for name in ("namespace", "pod", "org", "app", "env", "table")},
}


def spec_of(file: str) -> dict[str, Any]:
    """Returns the specification in one of the component's manifests."""
    return yaml.safe_load((COMPONENT / file).read_text())["spec"]


def rule_groups() -> list[dict[str, Any]]:
    """Returns recording rules and alerts as the operator passes them to Prometheus."""
    return spec_of("rules.yaml")["groups"] + spec_of("alerts.yaml")["groups"]


def rules(kind: str) -> dict[str, dict[str, Any]]:
    """Returns rules by name; `kind` is `alert` or `record`."""
    found = [rule for group in rule_groups() for rule in group["rules"] if kind in rule]
    by_name = {rule[kind]: rule for rule in found}
    assert len(by_name) == len(found), "a name is used twice"
    return by_name


@dataclass(frozen=True)
class Query:
    """One query of a dashboard, with the variables filled in."""

    dashboard: str
    panel: str
    expression: str

    def __str__(self) -> str:
        return f"{self.dashboard}: {self.panel}: {self.expression}"


def panel_queries() -> list[Query]:
    """Returns the queries of all panels."""
    return [
        Query(name, panel["title"], filled_in(target["expr"]))
        for name, dashboard in DASHBOARDS.items()
        for panel in dashboard["panels"]
        for target in panel.get("targets", [])
    ]


def runbook_queries() -> list[str]:
    """Returns the queries in the runbook."""
    return re.findall(r"^```promql\n(.+?)\n```$", RUNBOOK.read_text(), re.MULTILINE | re.DOTALL)


def label_queries() -> Iterator[tuple[str, str]]:
    """Yields selector and label of each dashboard variable."""
    for dashboard in DASHBOARDS.values():
        for variable in dashboard["templating"]["list"]:
            if variable["type"] == "query":
                match = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"]["query"])
                assert match, variable
                yield filled_in(match[1]), match[2]


def filled_in(expression: str) -> str:
    """Returns the expression as Grafana sends it when all values are selected."""
    for variable, value in _VARIABLES.items():
        expression = expression.replace(variable, value)
    assert "$" not in expression, expression
    return expression
