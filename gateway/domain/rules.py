"""The service's numbers. Configuration may lower them, never raise them."""

from msgspec import Struct

WINDOW_MS = 60_000
"""Length of a rate-limit window."""


class Limits(Struct, frozen=True):
    """What a call may carry."""

    body_bytes: int = 131_072
    key_bytes: int = 512
    value_bytes: int = 65_536
    min_ttl_seconds: int = 60
    max_ttl_seconds: int = 31_536_000
    default_ttl_seconds: int | None = None
