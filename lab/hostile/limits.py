"""Limit of open files."""

import resource

_SPARE = 500


def raise_file_limit() -> None:
    """Raises the limit to the maximum of the system; processes that are started later inherit it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def affordable(connections: int) -> int:
    """So many of them as the limit admits."""
    return min(connections, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - _SPARE)
