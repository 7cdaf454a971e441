"""The settings of `kind: memory`."""

from typing import Annotated

from msgspec import Meta

from backends.interface import AdapterSettings


class MemorySettings(AdapterSettings, frozen=True, kw_only=True, tag="memory"):
    """Settings of entries in this process, for one replica."""

    max_bytes: Annotated[int, Meta(ge=1, le=2**50)] = 268_435_456
