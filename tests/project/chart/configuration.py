"""The gateway's settings as a JSON schema, so that Helm refuses what the gateway would refuse at its start.

Draft 7, and patterns of RE2: what every Helm 3 understands. Any value may come from outside the file, as
`${NAME}` or `file:/path`; a secret has to.
"""

import re
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Meta, Struct

from gateway.config.settings import Settings

Schema = dict[str, Any]

OUTSIDE = r"\$\{[A-Za-z_]|^file:/"
_VARIABLES = r"(\$\{[A-Za-z_][A-Za-z0-9_]*\})+"
SECRET = rf"^{_VARIABLES}$|^file:/"
"""Nothing beside the names of variables, and no default of theirs."""
WRITTEN_BY_THE_CHART = {"host", "port", "reuse_port"}
_SECRET_HEADER = rf"^([A-Za-z_-]{{1,16}}[ =])?{_VARIABLES}( {_VARIABLES})?$|^file:/"
"""Perhaps after a short word, as in `Bearer ${TOKEN}` and `session=${ID}`."""
_SECRET_HEADERS = {
    "patternProperties": {
        "(?i)(authorization|cookie|token|secret|password|(api|auth|access)-?key)": {
            "type": ["string"],
            "pattern": _SECRET_HEADER,
        }
    }
}
SECRETS = {"token", "tokens", "secret_access_key", "master_keys", "secret", "password"}
_REDIS = r"^rediss?(\+sentinel|\+cluster)?://"
_URL_WITHOUT_PASSWORD = rf"{_REDIS}([^:@]*:{_VARIABLES}@)?[^@]*$|^\$\{{[^@]*$|^file:/"
_NETWORKS = {"networks", "denied_networks"}
_MOST_REPETITIONS = 1000
_NAMES = {str: "string", int: "integer", float: "number", bool: "boolean"}


def schema_of_configuration() -> Schema:
    """Returns the schema of `config`: `listen` without values of the chart, and numbers where it computes."""
    schema = _of(Settings)
    keys = schema["properties"]
    listen = keys["listen"]["properties"]
    for name in ("ops", "control"):
        del listen[name]
    listen["credentials"]["properties"].pop("tls")
    listen["credentials"]["type"].remove("null")  # credentials.enabled decides
    for listener in listen.values():
        for key in WRITTEN_BY_THE_CHART:
            listener["properties"].pop(key, None)
    edge = keys["edge"]["properties"]
    for key in (*keys["shutdown"]["properties"].values(), edge["max_connections"], edge["max_in_flight"]):
        del key["pattern"]
        key["type"].remove("string")
    for key in ("region", "public_url"):
        keys[key]["pattern"] += "|^$"  # the check of the template has a better word for what is missing
    schema["required"] = ["region", "store"]
    return schema


def _of(kind: Any, name: str = "") -> Schema:
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    schema = _of_one_of([each for each in kinds if each is not NoneType], name)
    if NoneType in kinds:
        return _or_null(schema)
    return schema


def _of_one_of(kinds: list[Any], name: str) -> Schema:
    """Distinguishes by tag or by shape: the mistakes of an `anyOf` are unreadable."""
    if len(kinds) == 1:
        return _of_kind(kinds[0], name)
    if all(_is_section(each) for each in kinds):
        return _of_tagged(kinds)
    first, *others = sorted(kinds, key=lambda each: _shape(each) == "scalar")
    shape = {"type": {"list": "array", "section": "object"}[_shape(first)]}
    return {"if": shape, "then": _of_kind(first, name), "else": _of_one_of(others, name)}


def _of_kind(kind: Any, name: str) -> Schema:
    bare, limits = (get_args(kind)[:2]) if get_origin(kind) is Annotated else (kind, Meta())
    if get_origin(bare) is list:
        most = {"minItems": limits.min_length} if limits.min_length else {}
        return {"type": "array", "items": _of(get_args(bare)[0], name), **most}
    if get_origin(bare) is dict:
        key, value = get_args(bare)
        pattern = {"pattern": _translated(get_args(key)[1].pattern)}
        others = {"propertyNames": pattern, "additionalProperties": _of(value)}
        return {"type": "object", **others, **(_SECRET_HEADERS if name == "headers" else {})}
    if get_origin(bare) is Literal:
        return _of_words(get_args(bare))
    return _of_section(bare) if _is_section(bare) else _of_scalar(bare, limits, name)


def _of_words(words: tuple[str, ...]) -> Schema:
    """YAML reads a bare `off` as false."""
    schema = _text("^(" + "|".join(words) + ")$")
    return {**schema, "type": ["string", "boolean"], "not": {"const": True}} if "off" in words else schema


def _of_section(kind: type[Struct]) -> Schema:
    fields = msgspec.structs.fields(kind)
    properties = {field.name: _of(field.type, field.name) for field in fields}
    required = [field.name for field in fields if field.required]
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        **({"required": required} if required else {}),
    }


def _of_tagged(kinds: list[type[Struct]]) -> Schema:
    """One section for each value of the tag."""
    tag = kinds[0].__struct_config__.tag_field
    values = [kind.__struct_config__.tag for kind in kinds]
    schema: Schema = {"type": "object", "required": [tag], "properties": {tag: {"enum": values}}, "allOf": []}
    for kind, value in zip(kinds, values, strict=True):
        then = _of_section(kind)
        del then["type"]  # null has no tag, and would be an object with any
        then["properties"] = {tag: {}, **then["properties"]}
        has_tag = {"required": [tag], "properties": {tag: {"const": value}}}
        schema["allOf"].append({"if": has_tag, "then": then})
    return schema


def _of_scalar(bare: Any, limits: Meta, name: str) -> Schema:
    if name in SECRETS:
        return {"type": ["string"], "pattern": SECRET}
    if name == "url":
        return {"type": ["string"], "pattern": _URL_WITHOUT_PASSWORD}
    if name in _NETWORKS:
        return _text("^[0-9a-fA-F.:]+(/[0-9]{1,3})?$")
    if bare is str:
        pattern = _translated(limits.pattern or "")
        if limits.min_length:
            pattern = f"^[\\s\\S]{{{limits.min_length},}}$"
        longest = {"maxLength": limits.max_length} if limits.max_length else {}
        return {**_text(pattern), **longest}
    bounds = {"minimum": limits.ge, "exclusiveMinimum": limits.gt, "maximum": limits.le}
    given = {key: bound for key, bound in bounds.items() if bound is not None}
    return {"type": [_NAMES[bare], "string"], **given, "pattern": OUTSIDE}


def _text(pattern: str) -> Schema:
    return {"type": ["string"], **({"pattern": f"{pattern}|{OUTSIDE}"} if pattern else {})}


def _translated(pattern: str) -> str:
    """RE2 has no `\\Z`, and counts to a thousand."""

    def counted(repetition: re.Match[str]) -> str:
        return repetition[0] if int(repetition[1]) <= _MOST_REPETITIONS else "*"

    return re.sub(r"\{0,([0-9]+)\}", counted, pattern.replace(r"\Z", "$"))


def _or_null(schema: Schema) -> Schema:
    if "if" in schema:
        return {"if": {"type": "null"}, "then": {}, "else": schema}
    types = schema["type"]
    return {**schema, "type": [*([types] if isinstance(types, str) else types), "null"]}


def _is_section(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)


def _shape(kind: Any) -> str:
    bare = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    if get_origin(bare) is list:
        return "list"
    return "section" if _is_section(bare) else "scalar"
