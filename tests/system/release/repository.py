"""A repository with one commit: the current files of this repository, committed or not."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.repository import ROOT

_COMMITTER = {
    **{f"GIT_{who}_NAME": "Test" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "test@example.com" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_DATE": "2026-11-21T12:00:00Z" for who in ("AUTHOR", "COMMITTER")},
    "GIT_CONFIG_GLOBAL": os.devnull,
}


def make_repository(folder: Path) -> Path:
    """Creates the repository and returns its root."""
    listed = _git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    for path in filter(None, listed):
        if (ROOT / path).is_symlink() or (ROOT / path).exists():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / path, folder / path, follow_symlinks=False)
    _git(folder, "init", "--quiet", "--initial-branch", "main")
    commit(folder, "Release")
    return folder


def commit(repository: Path, message: str) -> None:
    """Commits all changes."""
    _git(repository, "add", "--all")
    _git(repository, "commit", "--quiet", "--message", message)


def release(repository: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs `python -m release` in the repository with the Python of the tests."""
    command = [sys.executable, "-m", "release", *arguments]
    return subprocess.run(command, cwd=repository, capture_output=True, text=True, timeout=900, check=False)


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env={**os.environ, **_COMMITTER},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout
