"""`make release`: builds everything, checks it and writes checksums. `--only-build` skips the checks."""

import argparse
import shutil
import sys
import tempfile
from hashlib import sha256
from pathlib import Path

from release.commands import CommandError, run
from release.commit import Commit, NotReady, ready_commit
from release.installed import try_gateway
from release.packages import build_packages
from release.sbom import write_sbom

SUMS = "SHA256SUMS"


def main() -> None:
    """Releases the commit in the current folder, which must be the root of the repository."""
    parser = argparse.ArgumentParser(prog="python -m release")
    parser.add_argument("--target", type=Path, default=Path("dist"))
    parser.add_argument("--only-build", action="store_true", help="skip the checks and the bill of materials")
    arguments = parser.parse_args()
    try:
        commit = ready_commit(Path.cwd())
        with tempfile.TemporaryDirectory(prefix="kvs-release-") as folder:
            _release(commit, Path(folder), arguments.target, only_build=arguments.only_build)
    except (CommandError, NotReady) as error:
        raise SystemExit(f"not released: {error}") from None


def _release(commit: Commit, folder: Path, target: Path, *, only_build: bool) -> None:
    source, built = folder / "source", folder / "built"
    built.mkdir()
    commit.export(source)
    build_packages(commit, source, built)
    if not only_build:
        _check(commit, source, built, folder)
    _write_sums(built)
    shutil.rmtree(target, ignore_errors=True)
    shutil.move(built, target)
    sys.stdout.write((target / SUMS).read_text())


def _check(commit: Commit, source: Path, built: Path, folder: Path) -> None:
    run(sys.executable, "-m", "twine", "check", "--strict", *built.glob("*.whl"), *built.glob("*.tar.gz"))
    name = f"kvs_gateway-{commit.version}"
    wheel, sdist = built / f"{name}-py3-none-any.whl", built / f"{name}.tar.gz"
    client = built / f"kvs_client-{commit.version}-py3-none-any.whl"
    for package in (wheel, sdist):
        try_gateway(package, client, commit.version, folder / package.suffix)
    sbom = built / f"{name}.cdx.json"
    write_sbom(wheel, source / "requirements.lock", commit.version, sbom, folder)


def _write_sums(folder: Path) -> None:
    """Writes checksums in the format of `sha256sum --check`."""
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    lines = [f"{sha256(file.read_bytes()).hexdigest()}  {file.relative_to(folder)}\n" for file in files]
    (folder / SUMS).write_text("".join(lines))


if __name__ == "__main__":
    main()
