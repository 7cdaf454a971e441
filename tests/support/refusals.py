"""Every refusal that has a code, of all planes or of the data plane alone."""

import gateway.controlplane.errors
import gateway.credentialsplane.errors
import gateway.identity.issuer_keys  # noqa: F401 - each of them adds refusals to the tree
from gateway.domain.errors import Refusal


def all_refusals(base: type[Refusal] = Refusal) -> set[type[Refusal]]:
    """Returns `base` and its descendants, if they have a code."""
    below = {kind for child in base.__subclasses__() for kind in all_refusals(child)}
    return below | ({base} if hasattr(base, "code") else set())


def data_plane_refusals() -> set[type[Refusal]]:
    return {kind for kind in all_refusals() if kind.__module__ == Refusal.__module__}
