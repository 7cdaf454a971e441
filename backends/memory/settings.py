"""What `kind: memory` can be set to."""

from typing import Annotated

from msgspec import Meta

from backends.interface import AdapterSettings


class MemorySettings(AdapterSettings, frozen=True, kw_only=True, tag="memory"):
    """Entries inside the process: for one replica, lost when it ends."""

    max_bytes: Annotated[int, Meta(ge=1, le=2**50)] = 268_435_456
