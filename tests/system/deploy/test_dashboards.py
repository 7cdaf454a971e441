"""Dashboards: layout, queries, legends and descriptions."""

from itertools import combinations, pairwise

import pytest

from tests.support.kustomize import render
from tests.system.deploy.monitoring import COMPONENT, DASHBOARDS

WIDTH = 24
OLDEST_SCHEMA = 39  # Grafana 11
DRAWN_PER_SERIES = {"timeseries", "state-timeline"}


def panels_of(name: str) -> list[dict]:
    return [panel for panel in DASHBOARDS[name]["panels"] if panel["type"] != "row"]


EVERY_PANEL = [
    pytest.param(panel, id=f"{name}: {panel['title']}") for name in DASHBOARDS for panel in panels_of(name)
]


def overlap(one: dict, other: dict) -> bool:
    return (
        one["x"] < other["x"] + other["w"]
        and other["x"] < one["x"] + one["w"]
        and one["y"] < other["y"] + other["h"]
        and other["y"] < one["y"] + one["h"]
    )


@pytest.mark.parametrize("name", DASHBOARDS)
def test_a_dashboard_can_be_imported_by_grafana(name):
    dashboard = DASHBOARDS[name]
    assert "id" not in dashboard  # Grafana's own
    assert dashboard["uid"] == f"kvs-gateway-{name}"
    assert "kvs-gateway" in dashboard["tags"]
    assert dashboard["schemaVersion"] >= OLDEST_SCHEMA
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("name", DASHBOARDS)
def test_every_query_goes_to_the_chosen_prometheus(name):
    source, *others = DASHBOARDS[name]["templating"]["list"]
    assert (source["name"], source["type"], source["query"]) == ("datasource", "datasource", "prometheus")
    asking = [*others, *DASHBOARDS[name]["annotations"]["list"], *panels_of(name)]
    asking += [target for panel in panels_of(name) for target in panel["targets"]]
    chosen = {"type": "prometheus", "uid": "${datasource}"}
    assert all(each["datasource"] == chosen for each in asking)


@pytest.mark.parametrize("name", DASHBOARDS)
def test_panels_fit_the_grid_without_overlap(name):
    places = [panel["gridPos"] for panel in DASHBOARDS[name]["panels"]]
    assert all(place["x"] >= 0 and place["x"] + place["w"] <= WIDTH for place in places)
    assert not any(overlap(one, other) for one, other in combinations(places, 2))


@pytest.mark.parametrize("name", DASHBOARDS)
def test_panels_are_below_rows_without_gaps(name):
    dashboard = DASHBOARDS[name]
    assert dashboard["panels"][0]["type"] == "row"
    for one, other in pairwise(dashboard["panels"]):
        assert not one["type"] == other["type"] == "row"
    places = [panel["gridPos"] for panel in dashboard["panels"]]
    covered = {line for place in places for line in range(place["y"], place["y"] + place["h"])}
    assert covered == set(range(max(covered) + 1))


@pytest.mark.parametrize("panel", EVERY_PANEL)
def test_a_panel_has_title_description_and_unit(panel):
    assert panel["title"]
    assert panel["description"].endswith(".")
    assert panel["fieldConfig"]["defaults"]["unit"]


@pytest.mark.parametrize("panel", EVERY_PANEL)
def test_series_have_distinct_legends(panel):
    references = [target["refId"] for target in panel["targets"]]
    assert len(set(references)) == len(references)
    if panel["type"] in DRAWN_PER_SERIES:
        legends = [target["legendFormat"] for target in panel["targets"]]
        assert all(legends)
        assert len(set(legends)) == len(legends)


@pytest.mark.parametrize("panel", EVERY_PANEL)
def test_thresholds_rise_from_a_base_and_change_colour(panel):
    steps = panel["fieldConfig"]["defaults"].get("thresholds", {"steps": [{"value": None, "color": "text"}]})[
        "steps"
    ]
    base, *others = steps
    assert base["value"] is None
    assert [step["value"] for step in others] == sorted(step["value"] for step in others)
    assert all(one["color"] != other["color"] for one, other in pairwise(steps))


def test_grafana_finds_the_dashboards():
    """Grafana's sidecar selects ConfigMaps by label. A stable name lets a new version replace the old one."""
    (found,) = (each for each in render(COMPONENT) if each["kind"] == "ConfigMap")
    assert found["metadata"]["name"] == "kvs-gateway-dashboards"
    assert found["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert set(found["data"]) == {f"{name}.json" for name in DASHBOARDS}
