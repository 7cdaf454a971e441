"""The stores: one conformance suite for the three ports, and what each adapter promises beyond it."""

import pytest

for _part in ("base", "counters", "entries", "records"):
    pytest.register_assert_rewrite(f"tests.backends.conformance_{_part}")
