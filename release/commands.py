"""Runs other programs and reports the output of a failed one."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path


class CommandError(Exception):
    """A program failed or is not installed; the message is for the user."""


def run(*command: str | Path, folder: Path | None = None, environ: Mapping[str, str] | None = None) -> str:
    """Returns the program's standard output. Raises CommandError."""
    words = [str(word) for word in command]
    # make installs programs next to this Python
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    try:
        done = subprocess.run(
            words,
            cwd=folder,
            env=os.environ | {"PATH": path} | dict(environ or {}),
            capture_output=True,
            text=True,
            check=True,
        )
    except FileNotFoundError:
        raise CommandError(f"{words[0]} is required but not installed") from None
    except subprocess.CalledProcessError as error:
        raise CommandError(f"{' '.join(words)}\n{error.stdout}{error.stderr}") from None
    return done.stdout
