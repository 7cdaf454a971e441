"""Outcomes of calls on a connection."""

import asyncio
from collections.abc import Awaitable, Iterable

from backends.errors import BackendError, BackendUnavailable


async def outcomes(calls: Iterable[Awaitable]) -> list:
    """Replies and failures, in order."""
    return await asyncio.gather(*calls, return_exceptions=True)


def reasons(results: list) -> set[str]:
    """Why the calls failed that failed; no other exception than the ports' is let through."""
    failures = [result for result in results if isinstance(result, BaseException)]
    assert all(isinstance(failure, BackendUnavailable) for failure in failures), failures
    return {str(failure) for failure in failures}


async def fault_of(call: Awaitable) -> BackendError | None:
    """Returns the failure of a store call, if it failed."""
    try:
        await call
    except BackendError as fault:
        return fault
    return None
