"""The values of the chart: each is explained by the comment above it, or above the values that hold it."""

from collections.abc import Iterator

import yaml

from tests.project.chart import CHART

FILE = CHART / "values.yaml"


def unexplained() -> list[str]:
    """Returns the paths of values without a comment."""
    text = FILE.read_text()
    return list(_unexplained(yaml.compose(text, yaml.SafeLoader), text.splitlines(), ""))


def _unexplained(mapping: yaml.MappingNode, lines: list[str], parent: str) -> Iterator[str]:
    for key, value in mapping.value:
        path = f"{parent}{key.value}"
        if isinstance(value, yaml.MappingNode) and not value.flow_style:
            yield from _unexplained(value, lines, f"{path}.")
        elif not lines[key.start_mark.line - 1].strip().startswith("#"):
            yield path
