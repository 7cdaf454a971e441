"""The commit to release: only committed files get into a release."""

import io
import re
import tarfile
from dataclasses import dataclass
from pathlib import Path

from release.commands import CommandError, run
from release.version import version_of


class NotReady(Exception):
    """The repository cannot be released; the message says why."""


@dataclass(frozen=True)
class Commit:
    """A commit to release. `epoch`, its commit time in Unix seconds, is the time of all artifacts."""

    repository: Path
    digest: str
    epoch: int
    version: str

    def export(self, folder: Path) -> None:
        """Writes exactly the committed files into a folder, with the time of the commit."""
        archive = folder.with_suffix(".tar")
        run("git", "archive", "--output", archive, self.digest, folder=self.repository)
        with tarfile.open(fileobj=io.BytesIO(archive.read_bytes())) as files:
            files.extractall(folder, filter="tar")


def ready_commit(repository: Path) -> Commit:
    """Returns the newest commit. Raises NotReady if it cannot be released."""
    changed = run("git", "status", "--porcelain", folder=repository)
    if changed:
        raise NotReady(f"commit or remove these changes first:\n{changed.rstrip()}")
    digest, epoch = run("git", "log", "-1", "--format=%H %ct", folder=repository).split()
    version = version_of(repository)
    _require_changelogs(repository, version)
    _require_untagged(repository, version, digest)
    return Commit(repository, digest, int(epoch), version)


def _require_changelogs(repository: Path, version: str) -> None:
    dated = re.compile(rf"^## {re.escape(version)} - \d{{4}}-\d\d-\d\d$", re.MULTILINE)
    for changelog in (repository / "CHANGELOG.md", *sorted(repository.glob("clients/*/CHANGELOG.md"))):
        if not dated.search(changelog.read_text()):
            path = changelog.relative_to(repository)
            raise NotReady(f"add a section for this version to {path}: ## {version} - YYYY-MM-DD")


def _require_untagged(repository: Path, version: str, digest: str) -> None:
    """Checks that the version is not tagged on another commit: each version is released once."""
    try:
        tagged = run("git", "rev-parse", "--verify", "--quiet", f"v{version}^{{commit}}", folder=repository)
    except CommandError:
        return
    if tagged.strip() != digest:
        raise NotReady(f"v{version} is already another commit: choose a new version")
