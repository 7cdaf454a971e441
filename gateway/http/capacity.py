"""Every connection is an open file, and those are bounded; where they run out, no probe is answered."""

import resource

_SPARE = 256
"""For the side listeners, stores, and the process itself."""

_FEWEST_REFUSED = 64


def with_refused(connections: int) -> int:
    """How many there may be with those beyond the cap that are just being told so."""
    return connections + max(connections // 8, _FEWEST_REFUSED)


def affordable_connections(wanted: int) -> int:
    """As many of them as the limit of open files admits, which is raised if the system lets it be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = with_refused(wanted) + _SPARE
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return wanted
    limit = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    room = limit - min(_SPARE, limit // 2)
    return max(min(wanted, room - max(room // 9, _FEWEST_REFUSED)), 1)
