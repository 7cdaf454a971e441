"""Converts a YAML tree to settings. msgspec stops at the first mistake; `decode` finds all of them (D115)."""

import re
from collections.abc import Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import FieldInfo

from gateway.config.interpolation import Interpolated
from gateway.config.problems import Problems, is_name

_NAMES = {str: "a string", int: "an integer", float: "a number", bool: "true or false"}


def decode(kind: Any, tree: Any, path: str, problems: Problems) -> Any:
    """Converts the tree to a value of `kind`, or None if it is unusable. Mistakes go to `problems`."""
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    if tree is None and NoneType in kinds:
        return None
    kinds = tuple(each for each in kinds if each is not NoneType)
    kinds = tuple(each for each in kinds if _shape(each) == _shape_of(tree)) or kinds
    kind = kinds[0]
    bare = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    if get_origin(bare) is list:
        return _decode_list(kind, bare, tree, path, problems)
    if get_origin(bare) is dict:
        return _decode_mapping(bare, tree, path, problems)
    if isinstance(bare, type) and issubclass(bare, Struct):
        return _decode_section(kinds, tree, path, problems)
    return _decode_scalar(kind, tree, path, problems)


def _shape(kind: Any) -> str:
    bare = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    if get_origin(bare) is list:
        return "list"
    is_mapping = get_origin(bare) is dict or (isinstance(bare, type) and issubclass(bare, Struct))
    return "mapping" if is_mapping else "scalar"


def _shape_of(tree: Any) -> str:
    if isinstance(tree, list):
        return "list"
    return "mapping" if isinstance(tree, Mapping) else "scalar"


def _decode_section(kinds: tuple[type[Struct], ...], tree: Any, path: str, problems: Problems) -> Any:
    """Converts a section. Optional keys with wrong values count as absent, so the others can be checked."""
    if not isinstance(tree, Mapping):
        problems.add(path, "expected a mapping")
        return None
    tree = dict(tree)
    kind = _choose(kinds, tree, path, problems)
    if kind is None:
        return None
    fields = _fields(kind)
    for key in tree.keys() - fields.keys():
        _add_unknown(path, key, problems)
    values = {}
    for name in fields.keys() & tree.keys():
        before = len(problems.found)
        value = decode(fields[name].type, tree[name], _join(path, name), problems)
        if value is not None or len(problems.found) == before:
            values[name] = value
    missing = [name for name, field in fields.items() if field.required and name not in values]
    for name in set(missing) - tree.keys():
        problems.add(_join(path, name), "is required")
    return None if missing else kind(**values)


@cache
def _fields(kind: type[Struct]) -> dict[str, FieldInfo]:
    """Returns the fields by name. Cached, because resolving their types costs more than decoding."""
    return {field.name: field for field in msgspec.structs.fields(kind)}


def _add_unknown(path: str, key: object, problems: Problems) -> None:
    if is_name(key):
        problems.add(_join(path, key), "is not a known key")
    else:
        problems.add(path, "has a key that is not a name")


def _choose(
    kinds: tuple[type[Struct], ...], tree: dict[Any, Any], path: str, problems: Problems
) -> type[Struct] | None:
    """Returns the only kind, or the one that the tag of the mapping names; the tag is removed."""
    tag_field = kinds[0].__struct_config__.tag_field
    if tag_field is None:
        return kinds[0]
    by_tag = {kind.__struct_config__.tag: kind for kind in kinds}
    tag = tree.pop(tag_field, None)
    if not isinstance(tag, str) or tag not in by_tag:
        problems.add(_join(path, tag_field), "expected one of: " + ", ".join(map(str, by_tag)))
        return None
    return by_tag[tag]


def _decode_list(kind: Any, bare: Any, tree: Any, path: str, problems: Problems) -> Any:
    if not isinstance(tree, list):
        problems.add(path, "expected a list")
        return None
    limits = _limits(kind)
    if limits.min_length is not None and len(tree) < limits.min_length:
        problems.add(path, f"expected at least {limits.min_length}")
    (item,) = get_args(bare)
    before = len(problems.found)
    items = [_decode_item(item, value, path, index, problems) for index, value in enumerate(tree)]
    return None if len(problems.found) > before else items


def _decode_item(kind: Any, tree: Any, path: str, index: int, problems: Problems) -> Any:
    """Converts an item with msgspec; only if that fails, the slower `decode` reports its mistakes.

    Items are converted one at a time: msgspec holds the GIL, and a list of 100,000 apps in one call would
    stall the event loop during a reload.
    """
    try:
        return msgspec.convert(tree, kind)
    except msgspec.ValidationError:
        return decode(kind, tree, f"{path}[{index}]", problems)


def _decode_mapping(bare: Any, tree: Any, path: str, problems: Problems) -> Any:
    """Converts a mapping whose keys the user chooses."""
    if not isinstance(tree, Mapping):
        problems.add(path, "expected a mapping")
        return None
    name, item = get_args(bare)
    before = len(problems.found)
    items = {}
    for key, value in tree.items():
        if not isinstance(key, str) or not re.match(_limits(name).pattern or "", key):
            problems.add(path, "has a key that is not a name")
        else:
            items[key] = decode(item, value, _join(path, key), problems)
    return None if len(problems.found) > before else items


def _decode_scalar(kind: Any, tree: Any, path: str, problems: Problems) -> Any:
    try:
        return msgspec.convert(tree, kind, strict=not isinstance(tree, Interpolated))
    except msgspec.ValidationError:
        problems.add(path, f"expected {_describe(kind)}")
        return None


def _describe(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return "one of: " + ", ".join(get_args(kind))
    limits = _limits(kind)
    if limits.description is not None:
        return limits.description
    bare = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    text = _NAMES[bare]
    if limits.min_length is not None:
        text += f" of at least {limits.min_length} character(s)"
    if limits.ge is not None:
        text += f" from {limits.ge}"
    if limits.gt is not None:
        text += f" above {limits.gt}"
    if limits.le is not None:
        text += f" to {limits.le}"
    return text


def _limits(kind: Any) -> Meta:
    return get_args(kind)[1] if get_origin(kind) is Annotated else Meta()


def _join(path: str, key: object) -> str:
    return f"{path}.{key}" if path else str(key)
