"""Expressions of PromQL over the gateway's series: label values are quoted, whatever they hold."""

import json
from collections.abc import Iterable


def equal(labels: Iterable[tuple[str, str]]) -> list[str]:
    """Matchers of exactly these labels. JSON's escapes are among those of PromQL."""
    return [f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in labels]


def selector(matchers: Iterable[str]) -> str:
    """The brace has a line of its own: a comment among the matchers must not swallow it and the range."""
    return "{" + ",".join(matchers) + "\n}"
