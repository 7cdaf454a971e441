"""All files that state the version. `gateway.__version__` decides; a test compares the others with it.

`python -m release.version 0.3.0` updates all of them.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = "gateway/__init__.py"

VERSION_PATTERNS: dict[str, str] = {
    SOURCE: r'^__version__ = "(.+)"$',
    "gateway/opsplane/openapi.json": r'"version": "(\d.*?)"',
    "Dockerfile": r'org\.opencontainers\.image\.version="(.+?)"',
    "docs/image.md": r"/kvs-gateway:(\d[\w.]*)|kvs_gateway-(\d[\d.]*)\.cdx",
    "deploy/base/kustomization.yaml": r"^ +newTag: (\S+)",
    "deploy/README.md": r"/kvs-gateway:(\d[\w.]*)",
    "deploy/chart/Chart.yaml": r'^(?:version|appVersion): "?([\d.]+)"?$',
    "clients/python/pyproject.toml": r'^version = "(.+)"$',
    "clients/javascript/package.json": r'^  "version": "(.+)"',
    "clients/javascript/package-lock.json": r'\A\{\n  "name": "kvs-client",\n  "version": "(.+)"|'
    r'^    "": \{\n      "name": "kvs-client",\n      "version": "(.+)"',
    "clients/go/doc.go": r'^const Version = "(.+)"$',
}
"""Patterns by path; the group of each match is the version."""

_VERSION = re.compile(r"\d+\.\d+\.\d+")


def version_of(repository: Path) -> str:
    """Returns the version of the source in a folder."""
    (stated,) = stated_in(repository, SOURCE)
    return stated


def stated_in(repository: Path, path: str) -> list[str]:
    """Returns every version that a file states."""
    text = (repository / path).read_text()
    return [text[start:end] for start, end in _spans(path, text)]


def change(repository: Path, version: str) -> None:
    """Writes a version into all files."""
    for path in VERSION_PATTERNS:
        file = repository / path
        text = file.read_text()
        for start, end in reversed([*_spans(path, text)]):
            text = text[:start] + version + text[end:]
        file.write_text(text)


def _spans(path: str, text: str) -> Iterator[tuple[int, int]]:
    for found in re.finditer(VERSION_PATTERNS[path], text, re.MULTILINE):
        yield found.span(found.lastindex or 0)


if __name__ == "__main__":
    if len(sys.argv) != 2 or not _VERSION.fullmatch(sys.argv[1]):
        raise SystemExit("usage: python -m release.version 0.3.0")
    change(ROOT, sys.argv[1])
