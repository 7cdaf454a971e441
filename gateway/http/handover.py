"""Hands a shared port over to the other replicas.

The kernel spreads new connections over all sockets that listen on a port, and resets those whose handshake is
under way when one of the sockets closes. A filter on the leaving socket drops packets that begin a handshake:
the client's kernel repeats them after a second, and a replica that still listens answers. At 400
new connections a second and a round trip of 20 ms this saves 4.5 of them in each handover.
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
"""Time for handshakes that have begun; well below the second after which clients repeat."""

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
    """Lets no further handshake begin, and returns once those that have begun are over."""
    if sys.platform != "linux":  # no such filters
        return
    try:
        for listening in sockets:
            _drop_attempts(listening)
    except OSError as error:  # some sandboxes have no filters; the drain goes ahead without
        fields = {"reason": error.strerror}
        log.warning(
            "cannot filter new connections while leaving the port: some may be reset",
            extra={"fields": fields},
        )
    await asyncio.sleep(_HANDSHAKE_SECONDS)


def _drop_attempts(listening: socket.socket) -> None:
    instructions = b"".join(struct.pack("HBBI", *instruction) for instruction in _PROGRAM)
    program = ctypes.create_string_buffer(instructions, len(instructions))
    listening.setsockopt(
        socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HP", len(_PROGRAM), ctypes.addressof(program))
    )
