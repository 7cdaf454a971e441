"""The written part of the Helm chart, by `make chart`: `python -m tests.project.chart`.

configuration    the schema of `config`, from the gateway's settings
values_schema    that schema in its place in values.schema.json
values           the values that no comment explains
"""

from tests.support.repository import ROOT

CHART = ROOT / "deploy" / "chart"
