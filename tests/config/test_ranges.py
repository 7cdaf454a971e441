"""Numbers out of range are mistakes; the numbers at both ends are not."""

from typing import Any

import pytest
import yaml

from gateway.config.loading import parse
from gateway.config.problems import InvalidConfiguration

WHOLE = [
    ("listen.data.port", 0, 65_535),
    ("listen.ops.port", 0, 65_535),
    ("listen.control.port", 0, 65_535),
    ("signature.clock_skew_seconds", 1, 900),
    ("limits.body_bytes", 1, 131_072),
    ("limits.key_bytes", 1, 512),
    ("limits.value_bytes", 1, 65_536),
    ("limits.min_ttl_seconds", 1, 60),
    ("limits.max_ttl_seconds", 60, 31_536_000),
    ("limits.default_ttl_seconds", 60, 31_536_000),
    ("limits.app_bytes", 1, 9_007_199_254_740_991),
    ("rate_limit.requests_per_minute", 1, 1_000_000_000),
    ("directory.rotation_overlap_seconds", 0, 2_592_000),
    ("directory.max_tables", 0, 1000),
    ("metering.max_series", 57, 10_000_000),
    ("edge.max_connections", 1, 1_000_000),
    ("edge.max_connections_per_address", 0, 1_000_000),
    ("edge.max_in_flight", 1, 1_000_000),
]
FRACTIONAL = [
    ("directory.cache_ttl_seconds", 0, 3600),
    ("directory.stale_ttl_seconds", 0, 86_400),
    ("metering.idle_seconds", 1, 31_536_000),
    ("metering.first_sample_seconds", 0, 3600),
    ("logging.access", 0, 1),
    ("tracing.share", 0, 1),
    ("edge.head_seconds", 0.001, 86_400),
    ("edge.body_seconds", 0.001, 86_400),
    ("edge.idle_seconds", 0.001, 86_400),
    ("edge.write_seconds", 0.001, 86_400),
    ("shutdown.drain_seconds", 0, 3600),
    ("shutdown.grace_seconds", 0, 3600),
]
ENDS = [(path, end) for path, lowest, highest in WHOLE + FRACTIONAL for end in (lowest, highest)]
OUTSIDE = [(path, value) for path, lowest, highest in WHOLE for value in (lowest - 1, highest + 1)]
OUTSIDE += [
    (path, value) for path, lowest, highest in FRACTIONAL for value in (lowest - 0.002, highest + 0.5)
]
NOT_WHOLE = [
    (path, value) for path, lowest, _ in WHOLE for value in (lowest + 0.5, True, str(lowest), [], {})
]
NOT_NUMBERS = [(path, value) for path, _, _ in FRACTIONAL for value in (True, "1", [], {}, None)]


def _parse(path: str, value: Any) -> Any:
    tree: dict[str, Any] = {"region": "x"}
    *sections, key = path.split(".")
    inner = tree
    for section in sections:
        inner = inner.setdefault(section, {})
    inner[key] = value
    return parse(yaml.safe_dump(tree), {})


@pytest.mark.parametrize(("path", "value"), ENDS)
def test_a_number_at_the_end_of_its_range_is_taken(path, value):
    settings = _parse(path, value)
    for key in path.split("."):
        settings = getattr(settings, key)
    assert settings == value


@pytest.mark.parametrize(("path", "value"), OUTSIDE + NOT_WHOLE + NOT_NUMBERS)
def test_a_number_out_of_range_or_of_the_wrong_type_is_refused(path, value):
    with pytest.raises(InvalidConfiguration) as caught:
        _parse(path, value)
    assert [problem.path for problem in caught.value.problems] == [path]
