"""Longer deadlines for calls to Redis, for tests of other subjects on a busy machine."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from backends import sockets

LONG_SECONDS = 20.0


@contextmanager
def deadlines_of(seconds: float = LONG_SECONDS) -> Iterator[None]:
    """Patches the adapter's constant in every module of this process that has imported it.

    The kernel gives up a connection later than any call, as in production.
    """
    modules = [module for name, module in sys.modules.items() if name.startswith("backends.redis")]
    with pytest.MonkeyPatch.context() as patch:
        for module in modules:
            if hasattr(module, "DEADLINE_SECONDS"):
                patch.setattr(module, "DEADLINE_SECONDS", seconds)
        patch.setattr(sockets, "UNACKNOWLEDGED_SECONDS", max(sockets.UNACKNOWLEDGED_SECONDS, 2 * seconds))
        yield
