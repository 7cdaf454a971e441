"""Builds reproducible packages from an exported commit into a folder."""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

from release.archives import normalize_tar, write_zip
from release.commands import run
from release.commit import Commit

GO_MODULE = "example.com/kvs"
CHART = "deploy/chart"


def build_packages(commit: Commit, source: Path, target: Path) -> None:
    """Builds all packages. Raises CommandError."""
    for project in (source, source / "clients/python"):
        _python(project, target, commit.epoch)
    run("npm", "pack", "--silent", "--pack-destination", target, folder=source / "clients/javascript")
    _go(commit, source / "clients/go", target / "go" / GO_MODULE / "@v")
    _chart(source / CHART, target, commit.epoch)


def _python(project: Path, target: Path, epoch: int) -> None:
    """Builds an sdist, and a wheel from it."""
    before = set(target.glob("*.tar.gz"))
    environ = {"SOURCE_DATE_EPOCH": str(epoch)}
    run(sys.executable, "-m", "build", "--outdir", target, project, environ=environ)
    for sdist in set(target.glob("*.tar.gz")) - before:
        normalize_tar(sdist, epoch)


def _go(commit: Commit, module: Path, target: Path) -> None:
    """Writes the files that a module proxy serves, readable by `GOPROXY=file://…/go`: https://go.dev/ref/mod#goproxy-protocol."""
    version = f"v{commit.version}"
    target.mkdir(parents=True)
    files = {
        f"{GO_MODULE}@{version}/{file.relative_to(module)}": file.read_bytes()
        for file in module.rglob("*")
        if file.is_file()
    }
    write_zip(target / f"{version}.zip", files, commit.epoch)
    (target / f"{version}.mod").write_bytes((module / "go.mod").read_bytes())
    moment = datetime.fromtimestamp(commit.epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    (target / f"{version}.info").write_text(json.dumps({"Version": version, "Time": moment}))
    (target / "list").write_text(f"{version}\n")


def _chart(chart: Path, target: Path, epoch: int) -> None:
    run("helm", "package", chart, "--destination", target)
    (package,) = target.glob("kvs-gateway-*.tgz")
    normalize_tar(package, epoch)
