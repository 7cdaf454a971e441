"""YAML without repeated keys, without objects, and without nesting that overflows the stack.

The tree is built from the parser's events in one pass, which takes a tenth of what PyYAML's nodes cost: a
file with 100,000 apps takes seconds. PyYAML decides the type of a plain scalar (`yes`, `0x10`, `2026-11-20`).
The events come from libyaml if PyYAML was built with it.
"""

from collections.abc import Hashable
from sys import intern
from typing import Any

import yaml
from msgspec import Struct
from yaml.constructor import ConstructorError, SafeConstructor
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.resolver import Resolver
from yaml.scanner import Scanner

from gateway.config.problems import InvalidConfiguration, Problem

_MOST_VALUES = 5_000_000
"""Three times as many as 100,000 apps with three tables each have."""

_CHARACTERS_PER_VALUE = 100
"""Each such number of characters in a string counts as one more value: it bounds aliases of long strings."""

_MOST_KEYS = 10_000
"""Bound for the keys of one mapping, including those that are merged into it."""

_DEEPEST = 100

_MERGE = "<<"
_STRING = "tag:yaml.org,2002:str"
_COLLECTIONS = (None, "!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")


def read_yaml(text: str) -> Any:
    """Returns the tree in a text. Raises InvalidConfiguration, or RecursionError if nested too deeply."""
    try:
        return _Builder(text).document()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark is not None else ""
        raise InvalidConfiguration([Problem("(file)", f"is not YAML, or repeats a key{where}")]) from None
    except ValueError:
        raise InvalidConfiguration([Problem("(file)", "contains an invalid date or number")]) from None


class _PurePythonParser(Reader, Scanner, Parser):
    """Events from a text, without libyaml."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)


_EventParser: Any = _PurePythonParser
if yaml.__with_libyaml__:
    _EventParser = yaml.cyaml.CParser  # type: ignore[attr-defined] # not in the stubs


class _Anchored(Struct, frozen=True):
    """An anchored value, and the number of values in it with its own aliases expanded."""

    value: Any
    size: int


class _Builder:
    """Builds the one document of a text."""

    def __init__(self, text: str) -> None:
        self._next = _EventParser(text).get_event
        self._resolve: Any = Resolver().resolve
        self._constructor = SafeConstructor()
        self._anchored: dict[str, _Anchored | None] = {}
        self._size = 0
        self._depth = 0

    def document(self) -> Any:
        """Returns the document; None if there is none. Raises YAMLError, ValueError, RecursionError."""
        self._next()
        event = self._next()
        if type(event) is yaml.StreamEndEvent:
            return None
        tree = self._value(self._next())
        self._next()
        event = self._next()
        if type(event) is not yaml.StreamEndEvent:
            raise _error("another document", event)
        return tree

    def _value(self, event: Any) -> Any:
        """Builds the value that begins with this event. Aliases are counted: a few can expand to billions."""
        kind = type(event)
        if kind is yaml.AliasEvent:
            return self._alias(event)
        before = self._size
        self._count(1)
        if event.anchor is not None:
            if event.anchor in self._anchored:
                raise _error("repeated anchor", event)
            self._anchored[event.anchor] = None
        value = self._scalar(event) if kind is yaml.ScalarEvent else self._collection(event)
        if event.anchor is not None:
            self._anchored[event.anchor] = _Anchored(value, self._size - before)
        return value

    def _alias(self, event: Any) -> Any:
        if event.anchor not in self._anchored:
            raise _error("unknown alias", event)
        anchored = self._anchored[event.anchor]
        if anchored is None:  # an alias inside its own anchor
            raise RecursionError
        self._count(anchored.size)
        return anchored.value

    def _count(self, values: int) -> None:
        self._size += values
        if self._size > _MOST_VALUES:
            raise InvalidConfiguration([Problem("(file)", "contains too many values")])

    def _scalar(self, event: Any) -> Any:
        text, tag = event.value, event.tag
        self._size += len(text) // _CHARACTERS_PER_VALUE
        if tag is None or tag == "!":
            if not event.implicit[0]:
                return text
            tag = self._resolve(yaml.ScalarNode, text, event.implicit)
        if tag == _STRING:
            return text
        try:
            return self._constructor.construct_object(yaml.ScalarNode(tag, text, event.start_mark))
        except (LookupError, AttributeError):  # the text does not fit its tag
            raise _error("another kind of value", event) from None

    def _collection(self, event: Any) -> Any:
        if event.tag not in _COLLECTIONS:
            raise _error("unknown tag", event)
        self._depth += 1
        if self._depth > _DEEPEST:
            raise RecursionError
        value = self._mapping(event) if type(event) is yaml.MappingStartEvent else self._sequence()
        self._depth -= 1
        return value

    def _sequence(self) -> list[Any]:
        items = []
        while type(event := self._next()) is not yaml.SequenceEndEvent:
            items.append(self._value(event))
        return items

    def _mapping(self, start: Any) -> dict[Hashable, Any]:
        """Builds a mapping with YAML's merges. Its own keys win, then those of the first merged mapping."""
        own: dict[Hashable, Any] = {}
        merged: dict[Hashable, Any] = {}
        while type(event := self._next()) is not yaml.MappingEndEvent:
            if type(event) is yaml.ScalarEvent and event.value == _MERGE and event.implicit[0]:
                for source in self._merge_sources(self._next()):
                    merged.update(source)
                continue
            key = self._value(event)
            if isinstance(key, dict | list) or key in own:
                raise _error("repeated key", event)
            own[intern(key) if isinstance(key, str) else key] = self._value(self._next())
        mapping = merged | own if merged else own
        if len(mapping) > _MOST_KEYS:
            raise _error("too many keys", start)
        return mapping

    def _merge_sources(self, event: Any) -> list[dict[Hashable, Any]]:
        """Returns the mappings to merge in reverse order, because a later update wins."""
        value = self._value(event)
        sources = value[::-1] if isinstance(value, list) else [value]
        if not all(isinstance(source, dict) for source in sources):
            raise _error("merges something that is not a mapping", event)
        return sources


def _error(problem: str, event: Any) -> yaml.YAMLError:
    return ConstructorError(None, None, problem, event.start_mark)
