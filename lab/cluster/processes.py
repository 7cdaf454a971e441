"""Processes of pods, as the node sees them."""

import os
import re
import signal
import time
from pathlib import Path

GATEWAY = re.compile(rb"kvs-gateway\0serve\0")
REDIS = re.compile(rb"^redis-server ")
_TICKS = os.sysconf("SC_CLK_TCK")


def pids(pattern: re.Pattern[bytes]) -> list[int]:
    """Pids of processes with a matching command line."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if pattern.search((folder / "cmdline").read_bytes()):
                    found.append(int(folder.name))
            except OSError:
                continue  # has just ended
    return sorted(found)


def send(pattern: re.Pattern[bytes], number: signal.Signals, *, at_most: int = 1) -> None:
    """To the first ones; LookupError if there is none."""
    matching = pids(pattern)[:at_most]
    if not matching:
        raise LookupError(pattern)
    for pid in matching:
        os.kill(pid, number)


def age_seconds(pid: int) -> float:
    """Since the process was started."""
    ticks = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / _TICKS


def resident_bytes(pid: int) -> int:
    (line,) = re.findall(r"^VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return int(line) * 1024


def address(pid: int) -> str | None:
    """Returns the address of a process's pod; None before it has a network."""
    table = Path(f"/proc/{pid}/net/fib_trie").read_text()
    found = re.findall(r"\|-- (10\.244\.\d+\.\d+)\n\s+/32 host LOCAL", table)
    return found[0] if found else None
