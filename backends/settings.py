"""What each store can be set to, in YAML under `store:` and `counters:`."""

from typing import Annotated

from msgspec import Meta, Struct


class MemorySettings(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="memory"
):
    """Entries inside the process: for one replica, lost when it ends."""

    max_bytes: Annotated[int, Meta(ge=1, le=2**50)] = 268_435_456


StoreSettings = MemorySettings
