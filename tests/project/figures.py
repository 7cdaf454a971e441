"""Figures of the structure: `python -m tests.project.figures`. `make check` prints them; none fails it."""

import ast
import asyncio
import logging
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import median
from types import FrameType

from backends.clock import SystemClock
from tests.project.imports import PACKAGES, arrows_up, circles, modules, tree
from tests.support.gateway import run_gateway
from tests.support.repository import ROOT

COMPOSITION_ROOT = "gateway/app.py"


def private_names_of_aiohttp() -> int:
    """Those that classes use which inherit from it, those that are imported, and those of its objects."""
    return len({name for file in modules().values() for name in _private_names(file)})


def _private_names(file: Path) -> Iterator[str]:
    known = _of_aiohttp(file)
    if not known:
        return
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("aiohttp"):
            yield from (each.name for each in node.names if each.name.startswith("_"))
        elif isinstance(node, ast.ClassDef) and known & {_name(base) for base in node.bases}:
            yield from (name for name in _names_within(node) if name in _defined_in_aiohttp())
        elif isinstance(node, ast.Attribute) and _name(node.value) not in ("self", "cls"):
            yield from {node.attr} & _defined_in_aiohttp() - _own_names()


def _of_aiohttp(file: Path) -> set[str]:
    """What a file has imported from it."""
    return {
        each.asname or each.name
        for node in ast.walk(tree(file))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("aiohttp")
        for each in node.names
    }


def _names_within(node: ast.ClassDef) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Attribute):
            yield each.attr
        elif isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            yield each.name


def _name(base: ast.expr) -> str:
    inner = base.value if isinstance(base, ast.Subscript) else base
    return inner.id if isinstance(inner, ast.Name) else ""


@cache
def _own_names() -> set[str]:
    classes = (
        node for file in modules().values() for node in ast.walk(tree(file)) if isinstance(node, ast.ClassDef)
    )
    return {name for node in classes for name in _defined(node)}


def _defined(node: ast.ClassDef) -> set[str]:
    """Methods, and attributes of `self`, that a class itself makes."""
    methods = {each.name for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}
    return methods | _assigned(node)


def _assigned(node: ast.ClassDef) -> set[str]:
    return {
        each.attr
        for each in ast.walk(node)
        if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store) and _name(each.value) == "self"
    }


@cache
def _defined_in_aiohttp() -> set[str]:
    import aiohttp  # noqa: PLC0415 - its source is looked into, and that only where somebody inherits from it

    return {
        name
        for file in Path(aiohttp.__file__).parent.glob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ClassDef)
        for name in _names_within(node)
        if name.startswith("_") and not name.startswith("__")
    }


def widest_struct() -> int:
    """The most fields of a class in the composition root."""
    classes = [node for node in ast.walk(tree(ROOT / COMPOSITION_ROOT)) if isinstance(node, ast.ClassDef)]
    return max(map(_fields, classes), default=0)


def _fields(node: ast.ClassDef) -> int:
    declared = {
        each.target.id
        for each in node.body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    }
    return len(declared | _assigned(node))


def lines(file: Path) -> int:
    return len(file.read_text().splitlines())


async def calls_of_a_put() -> list[str]:
    """The file of each function of ours that is called while a put is served; the fewest of some puts."""
    async with run_gateway(clock=SystemClock()) as gateway:
        await gateway.put("k", 1)
        return min([await _profiled(gateway) for _ in range(9)], key=len)


async def _profiled(gateway) -> list[str]:
    called: list[str] = []
    ours = tuple(f"{ROOT / package}/" for package in PACKAGES)

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(ours):
            called.append(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        reply = await gateway.put("k", 1)
    finally:
        sys.setprofile(None)
    assert reply.status == 200
    return called


def figures() -> list[tuple[str, object, str]]:
    """What it is, what it is now, what is wanted."""
    called = asyncio.run(calls_of_a_put())
    return [
        (
            "loose files in the root of gateway/",
            sum(file.is_file() for file in (ROOT / "gateway").iterdir()),
            "4",
        ),
        ("circles of imports", circles(), "0"),
        ("imports that run up", arrows_up(), "0"),
        ("files that a put passes on memory", len(set(called)), "22"),
        ("calls of a put on memory", len(called), "55"),
        ("private names of aiohttp", private_names_of_aiohttp(), "0"),
        ("lines of the composition root", lines(ROOT / COMPOSITION_ROOT), "250"),
        ("widest struct of wired parts", widest_struct(), "8"),
        ("median of lines of a file", median(map(lines, modules().values())), "90 to 150"),
    ]


if __name__ == "__main__":
    logging.disable()
    for what, now, wanted in figures():
        print(f"{what:<40}{now:>6}   wanted: {wanted}")
