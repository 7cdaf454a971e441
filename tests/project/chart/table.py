"""The table of values in the chart's README: each with its default and the comment above it."""

import re
from collections.abc import Iterator

import yaml

from tests.project.chart import CHART

VALUES = CHART / "values.yaml"
FILE = CHART / "README.md"
_HEAD = "| value | default | meaning |\n| --- | --- | --- |\n"
_PLACE = re.compile(r"(?<=<!-- values: written by make chart -->\n).*?(?=<!-- end of values -->)", re.DOTALL)

Row = tuple[str, str, str]
"""Path, default as it is written, meaning."""


def current() -> str:
    """The README with the table as it should be."""
    lines = [f"| `{path}` | {default} | {meaning} |\n" for path, default, meaning in rows()]
    return _PLACE.sub(lambda _: "".join([_HEAD, *lines]), FILE.read_text())


def rows() -> list[Row]:
    """A row for each value that has no values of its own, or a comment that explains it as a whole."""
    text = VALUES.read_text()
    return list(_rows(yaml.compose(text, yaml.SafeLoader), text.splitlines(), ""))


def _rows(mapping: yaml.MappingNode, lines: list[str], parent: str) -> Iterator[Row]:
    for key, value in mapping.value:
        path = f"{parent}{key.value}"
        meaning = _comment_above(lines, key.start_mark.line)
        has_rows = isinstance(value, yaml.MappingNode) and not value.flow_style
        if meaning:
            yield path, "" if has_rows else _written(value), meaning
        if has_rows:
            yield from _rows(value, lines, f"{path}.")
        elif not meaning:
            raise ValueError(f"{path} is not explained")


def _comment_above(lines: list[str], line: int) -> str:
    comment = []
    while line and lines[line - 1].strip().startswith("#"):
        line -= 1
        comment.insert(0, lines[line].strip().removeprefix("#").strip())
    return " ".join(comment)


def _written(value: yaml.Node) -> str:
    mark, end = value.start_mark, value.end_mark
    return f"`{(mark.buffer or '')[mark.pointer : end.pointer]}`"
