"""Tests that this machine cannot run."""

import os
from typing import NoReturn

import pytest


def not_covered(reason: str) -> NoReturn:
    """Skip it, with the reason; in CI nothing may go unshown."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
