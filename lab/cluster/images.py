"""Images without a registry: a base of Debian's packages, the project's own on it, and the servers'."""

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from lab.cluster.step import run, step

GATEWAY = "registry.example.com/kvs-gateway"
"""The name in deploy/base."""

AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
PIP = Path("/etc/pip.conf")
NETWORKS = Path("/etc/cni")
"""Where buildah describes a network, whether or not a build has one."""

_PYTHON = ("ca-certificates", "python-is-python3", "python3", "python3-pip", "python3-venv")
_SERVERS = ("redis-server", "prometheus")
_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_FROM_ROOT = f"FROM scratch\nADD root.tar /\nENV {_PATH}\n"
_FROM_PROGRAM = 'FROM scratch\nCOPY {name} /{name}\nENTRYPOINT ["/{name}"]\n'
_STATIC = ("coredns", "metrics-server", "pause")


class Images:
    """Archives in the cache, each of one image by its name; what was built before is not built again."""

    def __init__(self, cache: Path, programs: Path) -> None:
        self._cache, self._programs = cache, programs
        self._storage = cache / "buildah"

    def servers(self) -> dict[str, Path]:
        """Redis and Prometheus in one image; CoreDNS, metrics-server and pause in one each."""
        archives = {"servers": self._root("servers", _SERVERS)}
        for name in _STATIC:
            archive = self._cache / f"{name}-{self._programs.name}.tar"
            if not archive.exists():
                with self._context({name: self._programs / name}) as folder:
                    self._build(folder, _FROM_PROGRAM.format(name=name), f"localhost/{name}:cluster", archive)
            archives[name] = archive
        return archives

    def gateway(self, source: Path, tag: str) -> Path:
        """The image that the Dockerfile in `source` describes, on a base that was put in its base's place."""
        archive = self._cache / f"gateway-{_digest_of(source)}-{tag}.tar"
        if not archive.exists():
            for old in self._cache.glob(f"gateway-*-{tag}.tar"):
                old.unlink()
            self._base(base_of(source))
            with step(
                f"image of the gateway ({tag}), on a base of Debian's packages in place of {base_of(source)}"
            ):
                self._build(source, None, f"{GATEWAY}:{tag}", archive)
        return archive

    def _base(self, name: str) -> None:
        """Debian's own Python under the name in the Dockerfile."""
        self._root("python", _PYTHON)
        self._buildah("tag", "localhost/python:cluster", name)

    def _root(self, name: str, packages: tuple[str, ...]) -> Path:
        archive = self._cache / f"{name}-{hashlib.sha256(' '.join(packages).encode()).hexdigest()[:12]}.tar"
        if not archive.exists():
            with step(f"image of Debian's {', '.join(packages)}"), self._context({}) as folder:
                run(
                    *("mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(packages)}"),
                    *(_release(), folder / "root.tar"),
                )
                self._build(folder, _FROM_ROOT, f"localhost/{name}:cluster", archive)
        return archive

    @contextmanager
    def _context(self, files: Mapping[str, Path]) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(dir=self._cache) as folder:
            for name, file in files.items():
                shutil.copy(file, Path(folder) / name)
            yield Path(folder)

    def _build(self, folder: Path, dockerfile: str | None, name: str, archive: Path) -> None:
        """A build that fails leaves no archive."""
        instructions = ["--file", "-"] if dockerfile else []
        mounts = [f"--volume={file}:{file}:ro" for file in (AUTHORITIES, PIP) if file.exists()]
        self._buildah(
            *("bud", "--quiet", "--pull-never", "--network=host", "--isolation=chroot", *mounts),
            *(*instructions, "--tag", name, str(folder)),
            text=dockerfile,
        )
        new = archive.with_suffix(f".{os.getpid()}")
        self._buildah("push", "--quiet", name, f"oci-archive:{new}:{name}")
        new.rename(archive)

    def _buildah(self, *arguments: str, text: str | None = None) -> str:
        """Storage of its own: none of the machine's images are touched."""
        places = ("--root", self._storage / "images", "--runroot", self._storage / "run")
        had_networks = NETWORKS.exists()
        try:
            return run("buildah", *places, "--storage-driver", "overlay", *arguments, text=text)
        finally:
            if not had_networks:
                shutil.rmtree(NETWORKS, ignore_errors=True)


def base_of(source: Path) -> str:
    """First lines of the Dockerfile."""
    return re.findall(r"^FROM (\S+)", (source / "Dockerfile").read_text(), re.MULTILINE)[0]


def _digest_of(source: Path) -> str:
    """Digest of every input of the build."""
    digest = hashlib.sha256()
    for name in ("Dockerfile", "gateway", "backends", "pyproject.toml", "setup.cfg", "requirements.lock"):
        for file in sorted([source / name, *(source / name).rglob("*")]):
            if file.is_file() and "__pycache__" not in file.parts:
                digest.update(str(file.relative_to(source)).encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def _release() -> str:
    """This machine's: its mirrors have it."""
    return re.findall(r"^VERSION_CODENAME=(\w+)", Path("/etc/os-release").read_text(), re.MULTILINE)[0]
