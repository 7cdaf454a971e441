"""The catalogue of metrics is what is scraped and what the documents list; no other module spells a name."""

import asyncio
import re
from itertools import product

import pytest
from prometheus_client.parser import text_string_to_metric_families

from gateway.observability import catalogue
from gateway.observability.catalogue import Metric
from tests.identity.issuer import trusted_from
from tests.support.config import BASE, merged
from tests.support.load import client_of
from tests.support.process import GatewayProcess
from tests.support.repository import ROOT

METRICS = {each.name: each for each in vars(catalogue).values() if isinstance(each, Metric)}
OWN_LABELS = {"histogram": {"le"}}
TABLE = re.compile(r"^\| metric \| labels \|\n\| --- \| --- \|\n((?:\|.*\|\n)+)", re.MULTILINE)
NOTE = re.compile(r"\([^)]*\)")


@pytest.fixture(scope="module")
def scraped(tmp_path_factory):
    """Metrics of a gateway with traces and an issuer after one call, by name."""
    folder = tmp_path_factory.mktemp("catalogue")
    config = merged(BASE, {"tracing": {"share": 0}, "control": {"oidc": [trusted_from(folder)]}})
    with GatewayProcess(config, folder) as process:
        families = text_string_to_metric_families(asyncio.run(shown_after_a_put(process)))
    return {each.name + "_total" * (each.type == "counter"): each for each in families}


async def shown_after_a_put(process: GatewayProcess) -> str:
    async with client_of(process) as gateway:
        await gateway.put("k", 1)
        return (await gateway.ask_ops("/metrics")).body.decode()


def ours(names) -> set[str]:
    return {name for name in names if name.startswith("kvs_")} | {catalogue.START_TIME.name}


def test_every_metric_of_the_catalogue_is_scraped_and_no_other(scraped):
    assert ours(scraped) == METRICS.keys()


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_a_metric_is_scraped_as_the_catalogue_says(scraped, metric):
    family = scraped[metric.name]
    assert (family.type, family.documentation) == (metric.type, metric.help_text)
    shown = {frozenset(sample.labels) - OWN_LABELS.get(metric.type, set()) for sample in family.samples}
    assert shown <= {frozenset(metric.labels)}


def test_the_documents_list_every_metric_with_its_labels():
    documents = [(ROOT / "README.md"), *(ROOT / "docs").glob("*.md")]
    (table,) = [part for file in documents for part in TABLE.findall(file.read_text())]
    listed = {}
    for names, labels in (row.strip("|\n").split("|") for row in table.splitlines()):
        for name in re.findall(r"`((?:kvs|process_start)_[a-z_{},]+)`", names):
            listed.update(dict.fromkeys(spelt_out(name), tuple(re.findall(r"\w+", NOTE.sub("", labels)))))
    assert listed == {name: metric.labels for name, metric in METRICS.items()}


def spelt_out(name: str) -> list[str]:
    """`a_{b,c}` expands to two names."""
    parts = [part.split(",") for part in re.split(r"[{}]", name)]
    return ["".join(each) for each in product(*parts)]


def test_no_other_module_spells_the_name_of_a_metric():
    spelling = re.compile("|".join(sorted(METRICS, key=len, reverse=True)))
    files = [file for file in (ROOT / "gateway").rglob("*.py") if file.name != "catalogue.py"]
    assert [str(file) for file in files if spelling.search(file.read_text())] == []
