"""Expressions of PromQL over the gateway's series: label values are quoted, whatever they hold."""

import json
from collections.abc import Iterable


def equal(labels: Iterable[tuple[str, str]]) -> list[str]:
    """Returns matchers for exactly these labels. JSON's escapes are valid in PromQL."""
    return [f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in labels]


def selector(matchers: Iterable[str]) -> str:
    """Returns a selector. The brace has its own line, so that a comment in a matcher cannot swallow it."""
    return "{" + ",".join(matchers) + "\n}"
