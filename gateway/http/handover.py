"""Leaving a port to the replicas that share it.

The kernel spreads new connections over everyone who listens on a port, and resets those whose handshake is
under way when one of them closes. A filter in front of the leaving socket drops what would begin a handshake:
the client's kernel repeats it after a second, and a replica that still listens takes it (D129).
"""

import asyncio
import ctypes
import logging
import socket
import struct
import sys
from collections.abc import Sequence

log = logging.getLogger("kvs.edge")

_HANDSHAKE_SECONDS = 0.1
"""How long a handshake that has begun may still take; well below the second after which clients repeat."""

_SO_ATTACH_FILTER = 26
_FLAGS_OFFSET, _SYN, _SYN_OR_ACK = 13, 0x02, 0x12
_PROGRAM = (
    (0x30, 0, 0, _FLAGS_OFFSET),  # load the byte of the TCP flags
    (0x54, 0, 0, _SYN_OR_ACK),  # keep two of them
    (0x15, 0, 1, _SYN),  # does this begin a handshake?
    (0x06, 0, 0, 0),  # drop it
    (0x06, 0, 0, 0xFFFFFFFF),  # let it pass whole
)


async def leave_port(sockets: Sequence[socket.socket]) -> None:
    """From now on no handshake begins; returns when those that have begun are over."""
    if sys.platform != "linux":  # no such filters
        return
    try:
        for listening in sockets:
            _drop_attempts(listening)
    except OSError as error:  # some sandboxes have no filters; what is in flight must end well all the same
        fields = {"reason": error.strerror}
        log.warning("connections that begin right now may be reset", extra={"fields": fields})
    await asyncio.sleep(_HANDSHAKE_SECONDS)


def _drop_attempts(listening: socket.socket) -> None:
    instructions = b"".join(struct.pack("HBBI", *instruction) for instruction in _PROGRAM)
    program = ctypes.create_string_buffer(instructions, len(instructions))
    listening.setsockopt(
        socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HP", len(_PROGRAM), ctypes.addressof(program))
    )
