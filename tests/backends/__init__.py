"""The stores: one conformance suite for the three ports, and further tests per adapter."""

import pytest

for _part in ("base", "counters", "entries", "feed", "records"):
    pytest.register_assert_rewrite(f"tests.backends.conformance_{_part}")
