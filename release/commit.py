"""The commit that is released: nothing that is not committed gets into a release."""

import io
import re
import tarfile
from dataclasses import dataclass
from pathlib import Path

from release.commands import CommandError, run
from release.version import version_of


class NotReady(Exception):
    """The repository cannot be released as it is; the text says why."""


@dataclass(frozen=True)
class Commit:
    """`epoch` is the second at which it was committed: the time of everything that is made of it."""

    repository: Path
    digest: str
    epoch: int
    version: str

    def export(self, folder: Path) -> None:
        """Its files, and no others, with its time."""
        archive = folder.with_suffix(".tar")
        run("git", "archive", "--output", archive, self.digest, folder=self.repository)
        with tarfile.open(fileobj=io.BytesIO(archive.read_bytes())) as files:
            files.extractall(folder, filter="tar")


def ready_commit(repository: Path) -> Commit:
    """The newest commit, if it can be released. Raises NotReady."""
    changed = run("git", "status", "--porcelain", folder=repository)
    if changed:
        raise NotReady(f"there are changes that are not committed:\n{changed.rstrip()}")
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
            raise NotReady(f"{path} has no section for this version: ## {version} - YYYY-MM-DD")


def _require_untagged(repository: Path, version: str, digest: str) -> None:
    """A version is released once: its tag, if there is one, is on this commit."""
    try:
        tagged = run("git", "rev-parse", "--verify", "--quiet", f"v{version}^{{commit}}", folder=repository)
    except CommandError:
        return
    if tagged.strip() != digest:
        raise NotReady(f"v{version} is another commit: give this one a version of its own")
