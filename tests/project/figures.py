"""Figures of the structure: `python -m tests.project.figures`. `make check` prints them and none fails it."""

import ast
import asyncio
import logging
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import median
from types import FrameType

from backends.clock import SystemClock
from tests.project.imports import PACKAGES, arrows_up, circles, modules, rooms_within, tree
from tests.project.language import flagged_words, headless_docstrings, tracked
from tests.support.gateway import run_gateway
from tests.support.repository import ROOT

COMPOSITION_ROOT = [ROOT / "gateway" / "app.py", *(ROOT / "gateway" / "composition").glob("*.py")]


def private_names_of_aiohttp() -> int:
    """Counts private names that are imported, used on its objects, or used by its subclasses."""
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
    """Returns the names that a file imports from aiohttp."""
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
    """Returns methods, and attributes of `self`, that a class itself defines."""
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
    import aiohttp  # noqa: PLC0415 - read only if a class inherits from it

    return {
        name
        for file in Path(aiohttp.__file__).parent.glob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ClassDef)
        for name in _names_within(node)
        if name.startswith("_") and not name.startswith("__")
    }


def widest_struct() -> int:
    """Returns the largest number of fields of a class in the composition root."""
    classes = [
        node for file in COMPOSITION_ROOT for node in ast.walk(tree(file)) if isinstance(node, ast.ClassDef)
    ]
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
    """Returns the file of each call of our functions that serves a put: the fewest of nine puts."""
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


def class_names_defined_twice() -> list[str]:
    """Names without an underscore that several modules give to classes of their own."""
    names = Counter(
        node.name
        for file in modules().values()
        for node in ast.walk(tree(file))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return sorted(name for name, times in names.items() if times > 1)


def decisions() -> int:
    """Counts the decisions in the pages of docs/decisions."""
    pages = (ROOT / "docs" / "decisions").glob("*.md")
    return sum(len(re.findall(r"^\*\*D\d+\. ", page.read_text(), re.MULTILINE)) for page in pages)


def lines_below(*folders: str) -> int:
    return sum(lines(file) for folder in folders for file in (ROOT / folder).rglob("*.py"))


def figures() -> Iterator[tuple[str, object, str]]:
    """Yields a figure's name, its value and the wanted value."""
    called = asyncio.run(calls_of_a_put())
    texts = tracked()
    sizes = {name: lines(file) for name, file in modules().items() if file.name != "__init__.py"}
    loose = sum(file.is_file() for file in (ROOT / "gateway").iterdir())
    yield "loose files in gateway/; circles; arrows up", f"{loose}; {circles()}; {arrows_up()}", "4; 0; 0"
    yield "rooms, arrows in gateway/directory/", _pair(rooms_within("gateway.directory")), "10, 27"
    yield "rooms, arrows in backends/redis/", _pair(rooms_within("backends.redis")), "8, 17"
    yield "headless docstrings", len(headless_docstrings(texts)), "30"
    yield "flagged words", len(flagged_words(texts)), "0"
    yield "class names defined twice or more", len(class_names_defined_twice()), "none that matters"
    yield "files that a put passes on memory", len(set(called)), "24"
    yield "calls of a put on memory", len(called), "55"
    yield "private names of aiohttp", private_names_of_aiohttp(), "0"
    yield "lines of the composition root, its largest file", max(map(lines, COMPOSITION_ROOT)), "250"
    yield "widest struct of wired parts", widest_struct(), "8"
    yield "files below 40 lines", sum(size < 40 for size in sizes.values()), "5"
    yield "median of lines of a file", round(median(sizes.values())), "110 to 150"
    yield "decisions", decisions(), "80"
    words = sum(len(text.split()) for name, text in texts.items() if name.endswith(".md"))
    yield "words of Markdown", f"{words:,}", "35,000"
    ratio = lines_below("tests") / lines_below("gateway", "backends")
    yield "lines of tests/ beside gateway and backends", f"{ratio:.2f}", "2.2"
    yield "lines of lab/ and benchmarks/", f"{lines_below('lab', 'benchmarks'):,}", "-"


def _pair(found: tuple[int, int]) -> str:
    return f"{found[0]}, {found[1]}"


if __name__ == "__main__":
    logging.disable()
    for name, now, wanted in figures():
        print(f"{name:<44}{now!s:>10}   wanted: {wanted}")
    print(f"defined twice or more: {', '.join(class_names_defined_twice())}")
