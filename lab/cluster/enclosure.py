"""Where a cluster lives: namespaces and control groups of its own, which end with one process.

The network, the mounts and the sysctls of the machine stay as they are.
"""

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from lab.cluster.step import run

CGROUPS = Path("/sys/fs/cgroup")
SHARES = 4096
"""Weight of CPU time; any other process of the machine has 1024."""

NODE_ADDRESS = "10.90.0.1"
METADATA_ADDRESS = "169.254.169.254"

SYSCTLS = {
    "kernel/keys/root_maxbytes": "25000000",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
}
"""Kernel settings of a kubelet: these six belong to the whole machine, so it sees files instead."""

WRITTEN = ("/etc", "/opt", "/var/lib", "/var/log")
"""Folders with paths that programs do not let us choose: these writes go into the cluster's folder."""

_ISOLATED = ("--mount", "--pid", "--fork", "--net", "--uts", "--ipc", "--cgroup", "--kill-child")


def run_enclosed(command: Sequence[str], working: Path, folder: Path) -> int:
    """The exit status of a command that has the machine's files and nothing else of it.

    `folder / "pid"` names a process with the same mounts and network. SIGINT and SIGTERM end everything.
    """
    with _control_groups(f"kvs-cluster-{os.getpid()}") as groups:

        def join() -> None:
            for group in groups:
                (group / "cgroup.procs").write_text("0")

        process = subprocess.Popen(["unshare", *_ISOLATED, *command], cwd=working, preexec_fn=join)
        (folder / "pid").write_text(str(process.pid))
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: process.kill())
        return process.wait()


@contextmanager
def _control_groups(name: str) -> Iterator[list[Path]]:
    """A group in each hierarchy, below this process's own; removed with all that was made in it."""
    groups = [folder / name for folder in _hierarchies()]
    try:
        for group in groups:
            _make(group)
        yield groups
    finally:
        for group in groups:
            _remove(group)


def _hierarchies() -> Iterator[Path]:
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        folder = CGROUPS / (controllers.removeprefix("name=") or "unified") / path.lstrip("/")
        if folder.is_dir():
            yield folder


def _make(group: Path) -> None:
    group.mkdir()
    if (group / "cpu.shares").exists():  # otherwise all of it would weigh as much as one other process
        (group / "cpu.shares").write_text(str(SHARES))
    for name in ("cpuset.cpus", "cpuset.mems"):  # a new group has none, and no process may join it
        if (group / name).exists():
            (group / name).write_text((group.parent / name).read_text())


def _remove(group: Path) -> None:
    """The kernel may need a moment for processes that have just been killed."""
    deadline = time.monotonic() + 30
    for folder, _, _ in os.walk(group, topdown=False):
        while True:
            try:
                Path(folder).rmdir()
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)


def furnish(folder: Path) -> None:
    """Inside, before anything is started: mounts, host name, a network with one address."""
    _mount("--make-rprivate", "/")
    _mount("-t", "proc", "proc", "/proc")
    controllers = sorted(each.name for each in CGROUPS.iterdir() if each.name != "unified")
    _mount("-t", "sysfs", "sysfs", "/sys")
    _mount("-t", "tmpfs", "tmpfs", str(CGROUPS))
    for controller in controllers:
        (CGROUPS / controller).mkdir()
        option = "none,name=systemd" if controller == "systemd" else controller
        _mount("-t", "cgroup", "-o", option, "cgroup", str(CGROUPS / controller))
    _mount("-t", "tmpfs", "tmpfs", "/run")
    for name, value in SYSCTLS.items():
        file = folder / "sysctls" / name.replace("/", ".")
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"{value}\n")
        _mount("--bind", str(file), f"/proc/sys/{name}")
    for place in WRITTEN:
        upper, work = (folder / kind / place.strip("/").replace("/", "-") for kind in ("written", "work"))
        upper.mkdir(parents=True)
        work.mkdir(parents=True)
        _mount("-t", "overlay", "-o", f"lowerdir={place},upperdir={upper},workdir={work}", "overlay", place)
    run("hostname", "node")
    _make_network()


def _make_network() -> None:
    """Everything outside the cluster's addresses ends at the far end of a pair that nobody listens on."""
    for command in (
        "ip link set lo up",
        "ip link add node type veth peer name nowhere",
        f"ip address add {NODE_ADDRESS}/24 dev node",
        f"ip address add {METADATA_ADDRESS}/32 dev node",
        "ip link set node up",
        "ip link set nowhere up",
        "ip route add default dev node",
    ):
        run(*command.split())
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")


def _mount(*arguments: str) -> None:
    run("mount", *arguments)


def adopt() -> int | None:
    """Splits the first process of the namespaces in two: None in the one that goes on to work.

    The other one waits for every process that has lost its parent, and returns the exit status of the first.
    """
    child = os.fork()
    if child == 0:
        return None
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os.kill(child, signal.SIGINT))
    while True:
        pid, status = os.wait()
        if pid == child:
            return os.waitstatus_to_exitcode(status) & 0xFF
