"""Fixtures that the laboratory shares with `tests/`; all of its tests belong to `make test-all`."""

from pathlib import Path

import pytest

from tests.conftest import _audit_lines_fit_their_schema, clock, gateway, lines

__all__ = ["_audit_lines_fit_their_schema", "clock", "gateway", "lines"]

LAB = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the laboratory's tests for `make test-all`."""
    for item in items:
        if item.path.is_relative_to(LAB):
            item.add_marker("test_all")
