"""values.schema.json, with the schema of `config` in its place; the rest of it is written by hand."""

import json

from tests.project.chart import CHART
from tests.project.chart.configuration import schema_of_configuration

FILE = CHART / "values.schema.json"


def current() -> str:
    """The whole file as it should be."""
    schema = json.loads(FILE.read_text())
    schema["properties"]["config"] = schema_of_configuration()
    return json.dumps(schema, indent=2) + "\n"
