"""The end of a listener of asyncio that loses no connection."""

import asyncio

_TURNS = 8
"""More turns of the loop than a connection takes from its listener to its handler."""


async def stop_accepting(listener: asyncio.Server) -> None:
    """Closes a listener after its accepted connections have reached their handlers, which close them.

    A connection belongs to no transport at first. A listener that is closed meanwhile gives it none, and the
    socket stays open.
    """
    loop = asyncio.get_running_loop()
    for each in listener.sockets:
        loop.remove_reader(each.fileno())
    for _ in range(_TURNS):
        await asyncio.sleep(0)
    listener.close()
