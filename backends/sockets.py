"""Sockets to stores: bytes that were given up, or not acknowledged in time, are not delivered later (D89).

A kernel repeats unacknowledged bytes for a quarter of an hour, even while its process stands still. So a
write from before a partition could be applied after it, and overwrite later ones that were acknowledged
elsewhere.
"""

import socket
import struct

UNACKNOWLEDGED_SECONDS = 1.0
"""Longer than the deadline of any attempt, so the kernel ends only connections that nobody waits for."""

_NO_LINGER = struct.pack("ii", 1, 0)


def drop_unacknowledged(connection: socket.socket) -> None:
    """Makes the kernel end a connection whose bytes are not acknowledged in time (Linux only)."""
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        timeout_ms = int(UNACKNOWLEDGED_SECONDS * 1000)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, timeout_ms)


def reset_when_closed(connection: socket.socket) -> None:
    """Makes the close a reset: the kernel drops undelivered bytes."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
