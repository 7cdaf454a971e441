"""Parses the metrics and labels that a PromQL expression uses."""

import re
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"""
    (?P<string>"(?:[^"\\]|\\.)*")
  | (?P<window>\[[^\]]*\])
  | (?P<number>\d[\w.]*)
  | (?P<name>[a-zA-Z_:][\w:]*)
  | (?P<sign>[^\s\w])
    """,
    re.VERBOSE,
)
_GROUPINGS = {"by", "without", "on", "ignoring", "group_left", "group_right"}
_WORDS = {"and", "or", "unless", "offset", "bool", "Inf", "NaN"}


@dataclass
class Names:
    """Label names in selectors, by metric, and label names in groupings."""

    selected: dict[str, set[str]] = field(default_factory=dict)
    grouped: set[str] = field(default_factory=set)


def names_in(expression: str) -> Names:
    """Returns the names that must exist for the expression to return data."""
    tokens = [(match.lastgroup, match[0]) for match in _TOKEN.finditer(expression)] + [("sign", "")]
    names = Names()
    at = 0
    while at < len(tokens):
        kind, text = tokens[at]
        at += 1
        if kind != "name" or text in _WORDS:
            continue
        following = tokens[at][1]
        if text in _GROUPINGS:
            inside, at = _inside(tokens, at, ")")
            names.grouped |= inside
        elif following == "{":
            inside, at = _inside(tokens, at, "}")
            names.selected.setdefault(text, set()).update(inside)
        elif following != "(" and following not in _GROUPINGS:  # neither `rate(…)` nor `sum by (…) (…)`
            names.selected.setdefault(text, set())
    return names


def _inside(tokens: list[tuple[str | None, str]], at: int, end: str) -> tuple[set[str], int]:
    """Returns the names up to a closing bracket, and the position behind it."""
    stop = next(index for index in range(at, len(tokens)) if tokens[index][1] == end)
    return {text for kind, text in tokens[at:stop] if kind == "name"}, stop + 1
