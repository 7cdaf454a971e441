"""Schemas of custom resources and Compose files, from the projects that read them."""

import json
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from tests.support.coverage import not_covered

FOLDER = Path(sysconfig.get_path("data")) / "schemas"


def faults_of(resource: dict[str, Any]) -> list[str]:
    """Returns what an API server would reject in a custom resource, and unknown fields; ignores CEL."""
    version = resource["apiVersion"].rpartition("/")[2]
    definition = yaml.safe_load(_text(f"{resource['kind']}.yaml"))
    versions = {each["name"]: each for each in definition["spec"]["versions"] if each["served"]}
    if version not in versions:
        return [f"there is no {resource['apiVersion']}"]
    schema = versions[version]["schema"]["openAPIV3Schema"]
    schema["properties"]["metadata"] = {"x-kubernetes-preserve-unknown-fields": True}
    return list(_faults(resource, _closed(schema)))


def defaults_added_to(resource: dict[str, Any]) -> list[str]:
    """Returns fields that the API server would add in lists: `kubectl apply` then sees the list changed."""
    definition = yaml.safe_load(_text(f"{resource['kind']}.yaml"))
    (version,) = (each for each in definition["spec"]["versions"] if each["storage"])
    return list(_added(resource, version["schema"]["openAPIV3Schema"], "", in_list=False))


def compose_faults_of(document: dict[str, Any]) -> list[str]:
    """Returns the objections of Compose."""
    return list(_faults(document, json.loads(_text("compose.json"))))


def _text(name: str) -> str:
    if not (FOLDER / name).exists():
        not_covered(f"there is no schema {name}: `make schemas` fetches it where there is a Go proxy")
    return (FOLDER / name).read_text()


def _faults(document: Any, schema: dict[str, Any]) -> Iterator[str]:
    for error in jsonschema.Draft7Validator(schema).iter_errors(document):
        yield f"{error.json_path}: {error.message}"


def _closed(schema: Any) -> Any:
    """With no other properties than those that are named."""
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    if schema.get("x-kubernetes-int-or-string"):
        return {"type": ["integer", "string"]}
    is_open = schema.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in schema
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object" and not is_open:
        closed["additionalProperties"] = False
    return closed


def _added(value: Any, schema: dict[str, Any], path: str, *, in_list: bool) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from _added(each, schema.get("items", {}), path, in_list=True)
    elif isinstance(value, dict):
        for name, inner in schema.get("properties", {}).items():
            if name in value:
                yield from _added(value[name], inner, f"{path}.{name}", in_list=in_list)
            elif in_list and "default" in inner:
                yield f"{path}.{name}"
