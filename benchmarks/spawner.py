"""Runs programs of Python for a process that is watched, because a fork of a large one holds its loop itself.

A program: `python -m benchmarks.spawner`. Each line of its input is a JSON array of arguments; when what they
name has ended, its status is a line of the output. What the programs write is thrown away.
"""

import subprocess
import sys

import msgspec

if __name__ == "__main__":
    for line in sys.stdin.buffer:
        words = msgspec.json.decode(line, type=list[str])
        done = subprocess.run([sys.executable, *words], stdout=subprocess.DEVNULL, check=False)
        print(done.returncode, flush=True)
