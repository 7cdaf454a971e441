"""YAML without repeated keys, without objects, and without nesting that overflows the stack.

The events come from libyaml where PyYAML was built with it: a file with 100,000 apps takes seconds
instead of minutes. Its composer is not used: it recurses in C without a bound, so a file of
brackets would end the process. PyYAML's own raises RecursionError.
"""

from collections.abc import Hashable
from typing import Any

import yaml
from yaml.composer import Composer
from yaml.constructor import ConstructorError, SafeConstructor
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.resolver import Resolver
from yaml.scanner import Scanner

from gateway.config.problems import InvalidConfiguration, Problem

_MOST_VALUES = 5_000_000
"""Three times what 100,000 apps with three tables each have."""

_CHARACTERS_PER_VALUE = 100
"""A long text counts as so many values more: an alias may repeat it, and each time it is looked through."""

_MOST_KEYS = 10_000
"""In one mapping, those that are merged into it included."""

_MERGE_TAG = "tag:yaml.org,2002:merge"


def read_yaml(text: str) -> Any:
    """The tree in a text. Raises InvalidConfiguration, or RecursionError for what is nested too deeply."""
    try:
        tree = _StrictLoader(text).get_single_data()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark is not None else ""
        raise InvalidConfiguration([Problem("(file)", f"is not YAML, or repeats a key{where}")]) from None
    except ValueError:
        raise InvalidConfiguration([Problem("(file)", "holds an impossible date or number")]) from None
    if _values_in(tree, {}) > _MOST_VALUES:
        raise InvalidConfiguration([Problem("(file)", "holds too many values")])
    return tree


def _values_in(tree: Any, counted: dict[int, int]) -> int:
    """How many there are once aliases are expanded: a few lines of them may stand for billions."""
    if isinstance(tree, str):
        return 1 + len(tree) // _CHARACTERS_PER_VALUE
    if not isinstance(tree, dict | list):
        return 1
    if id(tree) not in counted:
        values = tree.values() if isinstance(tree, dict) else tree
        counted[id(tree)] = 1 + sum(_values_in(value, counted) for value in values)
    return counted[id(tree)]


class _PurePythonParser(Reader, Scanner, Parser):
    """Events from a text, without libyaml."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)


_EventParser: Any = _PurePythonParser
if yaml.__with_libyaml__:
    _EventParser = yaml.cyaml.CParser  # type: ignore[attr-defined] # not in the stubs


class _StrictLoader(Composer, _EventParser, SafeConstructor, Resolver):  # type: ignore[misc] # one of two
    """Refuses repeated keys, of which YAML would silently take the last."""

    def __init__(self, text: str) -> None:
        _EventParser.__init__(self, text)
        Composer.__init__(self)
        SafeConstructor.__init__(self)
        Resolver.__init__(self)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002 - PyYAML's
        keys = [(key.tag, str(key.value)) for key, _ in node.value if key.tag != _MERGE_TAG]
        if len(keys) != len(set(keys)):
            raise ConstructorError(None, None, "repeated key", node.start_mark)
        return super().construct_mapping(node, deep)

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Merges of merges multiply keys before repeated ones are dropped, so they are bounded here."""
        super().flatten_mapping(node)
        if len(node.value) > _MOST_KEYS:
            raise ConstructorError(None, None, "repeated key", node.start_mark)
