"""Requirements of the machine: root, Debian's packages, and a kernel with the parts of a node."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.cluster.step import Missing, step

PACKAGES = {
    "containerd": "containerd",
    "runc": "runc",
    "containernetworking-plugins": "/usr/lib/cni/ptp",
    "buildah": "buildah",
    "mmdebstrap": "mmdebstrap",
    "iptables": "iptables",
    "iproute2": "ip",
}
"""Packages by name, with a program of each."""

POLICY = Path("/usr/sbin/policy-rc.d")
"""Policy that Debian's packages ask before they start a service; 101 forbids it."""

_PROBE = """
ip link set lo up && ip link add probe type veth peer name other
iptables -t nat -A POSTROUTING -j MASQUERADE
iptables -t mangle -A FORWARD -m conntrack --ctstate NEW -j RETURN
mount -t tmpfs probe /mnt && mkdir /mnt/lower /mnt/upper /mnt/work /mnt/merged
mount -t overlay -o lowerdir=/mnt/lower,upperdir=/mnt/upper,workdir=/mnt/work probe /mnt/merged
"""


def prepare() -> None:
    """Raises Missing before any change, or if a package cannot be installed."""
    if os.geteuid():
        raise Missing("root, for namespaces and control groups")
    if not Path("/sys/fs/cgroup/memory").is_dir():
        raise Missing("control groups of version 1, which this cluster's control groups are made for")
    _install()
    probe = subprocess.run(
        ["unshare", "--mount", "--net", "sh", "-euc", _PROBE], capture_output=True, text=True, check=False
    )
    if probe.returncode:
        raise Missing(f"a kernel with veth, netfilter and overlayfs: {probe.stderr.strip().splitlines()[-1]}")


def _install() -> None:
    absent = [name for name, program in PACKAGES.items() if not shutil.which(program)]
    if not absent:
        return
    if not shutil.which("apt-get"):
        raise Missing(f"Debian's packages {', '.join(absent)}")
    with step(f"packages of Debian: {', '.join(absent)}"), _no_services():
        if _apt("install", "--no-install-recommends", "-y", *absent) and (
            _apt("update") or _apt("install", "--no-install-recommends", "-y", *absent)
        ):
            raise Missing(f"Debian's packages {', '.join(absent)}: apt cannot install them")


def _apt(*arguments: str) -> int:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "-qq", "-o", "Acquire::Retries=0", "-o", "Acquire::http::Timeout=10", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, check=False).returncode


@contextmanager
def _no_services() -> Iterator[None]:
    """Containerd would start as a service of the machine."""
    if POLICY.exists():
        yield
        return
    POLICY.write_text("#!/bin/sh\nexit 101\n")
    POLICY.chmod(0o755)
    try:
        yield
    finally:
        POLICY.unlink()
