"""Runs coroutines to their end on one shared event loop: a loop for each would be most of the work."""

import asyncio
import atexit
from collections.abc import Coroutine
from typing import Any

_loop = asyncio.new_event_loop()
atexit.register(_loop.close)


def result_of(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Returns the result of a coroutine, or raises its exception."""
    return _loop.run_until_complete(coroutine)
