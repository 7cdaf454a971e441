"""Longer deadlines for calls of Redis, for tests that are not about them: this machine may be busy."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

LONG_SECONDS = 20.0


@contextmanager
def deadlines_of(seconds: float = LONG_SECONDS) -> Iterator[None]:
    """In this process; wherever the adapter's constant has been imported to."""
    modules = [module for name, module in sys.modules.items() if name.startswith("backends.redis")]
    with pytest.MonkeyPatch.context() as patch:
        for module in modules:
            if hasattr(module, "DEADLINE_SECONDS"):
                patch.setattr(module, "DEADLINE_SECONDS", seconds)
        yield
