"""What was written to a connection and its other end has not taken yet."""

import array
import asyncio
import fcntl
import termios

_LOOK_SECONDS = 0.05


async def is_taken(wire: asyncio.Transport, seconds: float) -> bool:
    """Wait until the other end's machine has everything, or the connection ends; False if time is over."""
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + seconds
    while not wire.is_closing() and _untaken_bytes(wire):
        if loop.time() >= ends_at:
            return False
        await asyncio.sleep(_LOOK_SECONDS)
    return True


def _untaken_bytes(wire: asyncio.Transport) -> int:
    """Those in our buffer and, where the system tells (Linux: SIOCOUTQ, which is TIOCOUTQ), in its own."""
    queued = array.array("i", [0])
    try:
        fcntl.ioctl(wire.get_extra_info("socket").fileno(), termios.TIOCOUTQ, queued)
    except OSError:
        return wire.get_write_buffer_size()
    return wire.get_write_buffer_size() + queued[0]
