"""`requirements.lock` beside what `setup.cfg` asks for."""

import re
from configparser import ConfigParser
from dataclasses import dataclass

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.repository import ROOT

LOCK = ROOT / "requirements.lock"

_PIN = re.compile(r"^([a-z0-9-]+)==([^ ]+)(?: ; ([^\\]+))? \\\n((?:    --hash=.*\n)+)", re.MULTILINE)


@dataclass(frozen=True)
class Pin:
    """One locked distribution, and for which environments."""

    name: str
    version: str
    marker: Marker | None
    hashes: tuple[str, ...]


def pins() -> list[Pin]:
    """All of the lock."""
    return [
        Pin(name, version, Marker(marker) if marker else None, tuple(re.findall(r"--hash=(\S+)", hashes)))
        for name, version, marker, hashes in _PIN.findall(LOCK.read_text())
    ]


def requirements() -> list[Requirement]:
    """Requirements of the gateway, including those for traces."""
    settings = ConfigParser()
    settings.read(ROOT / "setup.cfg")
    needed = settings["options"]["install_requires"] + settings["options.extras_require"]["otel"]
    lines = needed.splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


def name_of(requirement: Requirement) -> str:
    return canonicalize_name(requirement.name)
