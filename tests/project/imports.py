"""Imports between our own modules, read from their source."""

import ast
import configparser
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.support.repository import ROOT

PACKAGES = ("gateway", "backends")
Arrow = tuple[str, str]


@cache
def modules() -> dict[str, Path]:
    """Returns files by module name."""
    files = sorted(file for package in PACKAGES for file in (ROOT / package).rglob("*.py"))
    return {
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file
        for file in files
    }


@cache
def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text())


@cache
def arrows() -> set[Arrow]:
    """Returns pairs of importing and imported module."""
    return {
        (module, imported)
        for module, file in modules().items()
        for imported in _imports(file)
        if imported != module
    }


def _imports(file: Path) -> Iterator[str]:
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name in modules())
        elif isinstance(node, ast.ImportFrom) and node.module in modules():
            for each in node.names:
                below = f"{node.module}.{each.name}"
                yield below if below in modules() else node.module


def circles() -> int:
    """Counts groups of modules that all reach each other."""
    reached = {module: _reached_from(module) for module in modules()}
    groups = {
        frozenset(other for other in reached[module] if module in reached[other])
        for module in modules()
        if module in reached[module]
    }
    return len(groups)


def _reached_from(module: str) -> set[str]:
    found: set[str] = set()
    waiting = [module]
    while waiting:
        here = waiting.pop()
        after = {imported for importing, imported in arrows() if importing == here} - found
        found |= after
        waiting += after
    return found


def rooms_within(package: str) -> tuple[int, int]:
    """Counts the rooms of a package, which are its direct children, and the arrows between them."""
    between = {
        (start, end)
        for importing, imported in arrows()
        if (start := _room(importing, package)) and (end := _room(imported, package)) and start != end
    }
    return len({room for module in modules() if (room := _room(module, package))}), len(between)


def _room(module: str, package: str) -> str:
    """Returns the child of the package that holds a module; "" for other modules and the package itself."""
    return module.removeprefix(f"{package}.").partition(".")[0] if module.startswith(f"{package}.") else ""


def arrows_up() -> int:
    """Counts imports to a higher floor, or between rooms of one floor, by the contract in setup.cfg."""
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / "setup.cfg")
    layers = contracts["importlinter:contract:floors"]["layers"].split("\n")
    floors = [[room.strip() for room in layer.split("|")] for layer in layers if layer.strip()]
    places = {room: (-height, room) for height, floor in enumerate(floors) for room in floor}
    return sum(
        _runs_up(_place(importing, places), _place(imported, places)) for importing, imported in arrows()
    )


def _place(module: str, places: dict[str, tuple[int, str]]) -> tuple[int, str] | None:
    names = module.split(".")
    rooms = (".".join(names[:length]) for length in range(len(names), 0, -1))
    return next((places[room] for room in rooms if room in places), None)


def _runs_up(importing: tuple[int, str] | None, imported: tuple[int, str] | None) -> bool:
    if importing is None or imported is None or importing[1] == imported[1]:
        return False
    return imported[0] >= importing[0]
