"""A network of namespaces: a near side, a router, and a far side. A cut router forwards and keeps nothing.

The calling thread lives in the near namespace meanwhile; the machine's own network stays as it is.
"""

import ctypes
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

FAR_ADDRESS = "10.91.2.2"

_NEW_NETWORK = 0x40000000
_FORWARDING = Path("/proc/sys/net/ipv4/ip_forward")
_libc = ctypes.CDLL(None, use_errno=True)


class Partition:
    """Built by `namespaces`."""

    def __init__(self, router: int, far: int) -> None:
        self._router, self._far = router, far

    @contextmanager
    def on_far_side(self) -> Iterator[None]:
        """Sockets and processes that are made in the block belong to the far side, also later."""
        with _within(self._far):
            yield

    def cut(self) -> None:
        self._forward(b"0")

    def heal(self) -> None:
        self._forward(b"1")

    def _forward(self, value: bytes) -> None:
        with _within(self._router):
            _FORWARDING.write_bytes(value)


@contextmanager
def namespaces() -> Iterator[Partition]:
    """Fails where it cannot be shown: without root, without namespaces, or without `ip`."""
    if os.geteuid():
        pytest.fail("this proof needs root, for network namespaces: nothing was shown")
    with ExitStack() as opened:
        home, near, router, far = (
            opened.enter_context(_namespace(new=each)) for each in (False, *[True] * 3)
        )
        opened.callback(_enter, home)
        _connect(("near", near, "10.91.1.1"), ("router1", router, "10.91.1.2"))
        _connect(("router2", router, "10.91.2.1"), ("far", far, FAR_ADDRESS))
        with _within(far):
            _ip("route", "add", "default", "via", "10.91.2.1")
        _enter(near)
        _ip("route", "add", "default", "via", "10.91.1.2")
        partition = Partition(router, far)
        partition.heal()
        yield partition


@contextmanager
def _namespace(*, new: bool) -> Iterator[int]:
    """A descriptor of this thread's network namespace, or of a new one, which lives as long as it is used."""
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    if not new:
        found = before
    else:
        if _libc.unshare(_NEW_NETWORK):
            pytest.fail(f"no network namespace: {os.strerror(ctypes.get_errno())}; nothing was shown")
        found = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        _ip("link", "set", "lo", "up")
        _enter(before)
        os.close(before)
    try:
        yield found
    finally:
        os.close(found)


@contextmanager
def _within(namespace: int) -> Iterator[None]:
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    _enter(namespace)
    try:
        yield
    finally:
        _enter(before)
        os.close(before)


def _enter(namespace: int) -> None:
    if _libc.setns(namespace, _NEW_NETWORK):
        raise OSError(ctypes.get_errno(), "setns")


def _connect(*ends: tuple[str, int, str]) -> None:
    """Connects two namespaces by a pair of virtual devices, each end by its name, namespace and address."""
    (here, namespace, _), (there, other, _) = ends
    with _within(namespace):
        _ip("link", "add", here, "type", "veth", "peer", "name", there)
        _ip("link", "set", there, "netns", f"/proc/{os.getpid()}/fd/{other}")
    for name, each, address in ends:
        with _within(each):
            _ip("address", "add", f"{address}/30", "dev", name)
            _ip("link", "set", name, "up")


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.fail(f"ip {' '.join(words)}: {done.stderr.strip()}; nothing was shown")


def wait_for_repetitions() -> None:
    """Waits without a turn of the loop until a kernel has repeated lost bytes: after 0.2, 0.6, 1.4, 3 s."""
    time.sleep(4)
