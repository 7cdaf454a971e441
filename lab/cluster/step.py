"""Progress of a run, and its end if something is missing."""

import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path


class Missing(Exception):
    """Something that a cluster needs is not to be had on this machine; the text says what, in one line."""


@contextmanager
def step(title: str) -> Iterator[None]:
    """Prints how long it took."""
    print(f"{title} ...", flush=True)
    began = time.monotonic()
    yield
    print(f"  {time.monotonic() - began:.1f} s", flush=True)


def run(
    *command: str | Path,
    text: str | None = None,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Returns the output of the command. Raises RuntimeError with the end of its errors if it fails."""
    done = subprocess.run(
        [*map(str, command)],
        input=text,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        end = (done.stderr.strip() or done.stdout.strip())[-2000:]
        raise RuntimeError(f"{' '.join(map(str, command))}: {end}")
    return done.stdout
