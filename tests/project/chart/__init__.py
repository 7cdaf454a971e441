"""What of the Helm chart is written by `make chart`: `python -m tests.project.chart`.

configuration    the schema of `config`, from the gateway's settings
values_schema    that schema in its place in values.schema.json
table            the table of values in its README, from values.yaml
"""

from tests.support.repository import ROOT

CHART = ROOT / "deploy" / "chart"
