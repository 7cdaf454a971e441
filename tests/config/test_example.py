"""`config.example.yaml` shows every key once and starts as it is."""

import re
from collections import Counter
from collections.abc import Iterator
from types import NoneType
from typing import Any, get_args, get_type_hints

import msgspec
import pytest
from msgspec import Struct

from gateway.app import build_app
from gateway.config.loading import load
from gateway.config.settings import Settings
from tests.support.repository import ROOT

EXAMPLE = ROOT / "config.example.yaml"


def _sections_within(kind: Any) -> list[type[Struct]]:
    if isinstance(kind, type) and issubclass(kind, Struct):
        return [kind]
    return [section for part in get_args(kind) if part is not NoneType for section in _sections_within(part)]


def _keys(section: type[Struct]) -> Iterator[str]:
    """Every key, once for each place in which it can stand; `counters` is a block like `store`."""
    hints = get_type_hints(section)
    for field in msgspec.structs.fields(section):
        inner = [] if field.name == "counters" else _sections_within(hints[field.name])
        if not inner:
            yield field.name
        for each in inner:
            yield from _keys(each)


def _blocks(section: type[Struct]) -> Iterator[str]:
    hints = get_type_hints(section)
    for field in msgspec.structs.fields(section):
        for inner in _sections_within(hints[field.name]):
            yield field.name
            yield from _blocks(inner)


EXPECTED = Counter(_keys(Settings))
BLOCKS = Counter(block for block in _blocks(Settings) if block != "counters")


def _mentions(key: str) -> int:
    place = rf"^\s*(?:#\s+)?(?:-\s+)?{key}:\s|\{{[^}}]*\b{key}:\s"
    return len(re.findall(place, EXAMPLE.read_text(), re.MULTILINE))


@pytest.mark.parametrize("key", sorted(EXPECTED))
def test_a_key_is_shown_once_for_each_place_it_can_stand_in(key):
    assert _mentions(key) == EXPECTED[key] + BLOCKS[key]


@pytest.mark.parametrize("block", sorted(BLOCKS))
def test_a_block_is_shown(block):
    assert _mentions(block) >= 1


def test_the_example_loads_with_an_empty_environment():
    assert load(EXAMPLE, {}).region


@pytest.mark.parametrize(
    "path", ["listen", "limits", "rate_limit", "directory", "runtime", "metering", "edge"]
)
def test_the_example_shows_the_defaults(path):
    assert getattr(load(EXAMPLE, {}), path) == getattr(Settings(region="x"), path)


async def test_the_example_starts_as_it_is_on_ports_that_are_free():
    settings = load(EXAMPLE, {})
    free = {
        name: msgspec.structs.replace(getattr(settings.listen, name), port=0)
        for name in ("data", "ops", "control")
    }
    listen = msgspec.structs.replace(settings.listen, **free)
    replica = (await build_app(msgspec.structs.replace(settings, listen=listen))).replica
    async with replica.running():
        assert set(replica.urls) == {"data", "ops", "control"}
