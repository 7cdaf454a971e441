"""Fuzzing that is led by coverage: `python -m lab.fuzz TARGET --seconds 60 [--keep]`.

Starts from `tests/fuzz/corpus/TARGET`. What reached code that nothing reached before is written to
`build/fuzz/TARGET`, or with `--keep` to the corpus. Ends with exit code 0 after that time, or at the first
finding, whose input is then there in a file `crash-*`.
"""

import argparse
import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["gateway", "backends"]):
    from tests.fuzz.targets import CORPUS, TARGETS

FOUND = Path("build/fuzz")
SLOW_SECONDS = 5
MAX_BYTES = 4096


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--keep", action="store_true")
    arguments = parser.parse_args()
    known = CORPUS / arguments.target
    found = known if arguments.keep else FOUND / arguments.target
    found.mkdir(parents=True, exist_ok=True)
    options = [
        f"-max_total_time={arguments.seconds}",
        f"-timeout={SLOW_SECONDS}",
        f"-max_len={MAX_BYTES}",
        f"-artifact_prefix={found}/",
        "-verbosity=1",
        "-print_final_stats=1",
    ]
    atheris.Setup([sys.argv[0], *options, str(found), str(known)], TARGETS[arguments.target])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
