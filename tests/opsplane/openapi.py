"""The OpenAPI document, looked into."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gateway.opsplane

DOCUMENT: dict[str, Any] = json.loads(Path(gateway.opsplane.__file__).with_name("openapi.json").read_text())

METHODS = {"get", "put", "post", "patch", "delete"}


def operations(tag: str) -> list[dict[str, Any]]:
    """All operations of a plane."""
    return [
        operation
        for methods in DOCUMENT["paths"].values()
        for method, operation in methods.items()
        if method in METHODS and tag in operation["tags"]
    ]


def error_responses() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Path, status and response of every refusal that is documented."""
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            for status, response in operation["responses"].items() if method in METHODS else ():
                if status >= "400":
                    yield path, status, _resolved(response["$ref"]) if "$ref" in response else response


def schema_of(name: str) -> dict[str, Any]:
    return DOCUMENT["components"]["schemas"][name]


def codes_of(operation: dict[str, Any]) -> set[str]:
    """The error codes that an operation documents."""
    return set(_codes(operation["responses"]))


def documented_codes(tag: str) -> set[str]:
    """The error codes of a plane."""
    return {code for operation in operations(tag) for code in codes_of(operation)}


def _codes(node: Any) -> Iterator[str]:
    if isinstance(node, list):
        for each in node:
            yield from _codes(each)
    elif isinstance(node, dict):
        if "$ref" in node:
            yield from _codes(_resolved(node["$ref"]))
        for name, each in node.items():
            if name == "error" and isinstance(each, dict) and "enum" in each:
                yield from each["enum"]
            else:
                yield from _codes(each)


def _resolved(reference: str) -> Any:
    node: Any = DOCUMENT
    for part in reference.removeprefix("#/").split("/"):
        node = node[part]
    return node
