"""Readiness: the state of the dependencies, and whether this replica should receive traffic.

A later outage does not make a replica unready unless `readiness` is strict. All replicas share the stores, so
all would leave the load balancer together, and clients would get no answer instead of a refusal with its
reason.
"""

import logging
from collections.abc import Callable, Mapping
from enum import StrEnum

from backends.backend import Backend
from backends.errors import BackendError
from gateway.observability.logs import describe_exception

log = logging.getLogger("kvs.health")


class Status(StrEnum):
    """Status of the replica at `/readyz`."""

    READY = "ready"
    STARTING = "starting"
    DRAINING = "draining"


class Health:
    """Tracks the dependencies. Ready once each was reached; if strict, only while all are up."""

    def __init__(
        self,
        dependencies: Mapping[str, Backend],
        *,
        strict: bool,
        is_draining: Callable[[], bool],
    ) -> None:
        self._dependencies = dependencies
        self._strict = strict
        self._up: dict[str, bool | None] = dict.fromkeys(dependencies)
        self._reached_all = False
        self._reasons: dict[str, str] = {}
        self._is_draining = is_draining

    @property
    def status(self) -> Status:
        """Current status of the replica."""
        if self._is_draining():
            return Status.DRAINING
        is_ready = all(self._up.values()) if self._strict else self._reached_all
        return Status.READY if is_ready else Status.STARTING

    def dependencies(self) -> dict[str, bool]:
        """Returns, for each dependency, whether it answered the last ping."""
        return {dependency: bool(is_up) for dependency, is_up in self._up.items()}

    def never_ready(self) -> dict[str, str]:
        """Returns the failure of each dependency if the replica was never ready, else nothing."""
        return {} if self._reached_all else self._reasons

    def clock_leads(self) -> dict[str, float]:
        """Returns the lead of the local clock over each dependency that is up and has one, in seconds."""
        leads = {name: backend.clock_lead_seconds for name, backend in self._dependencies.items()}
        return {name: lead for name, lead in leads.items() if lead is not None and self._up[name]}

    def warnings(self) -> dict[str, dict[str, bool]]:
        """Returns the known warnings of each dependency that is up, and whether each one applies."""
        return {
            name: {str(warning): holds for warning, holds in backend.warnings.items()}
            for name, backend in self._dependencies.items()
            if self._up[name]
        }

    def warning_levels(self) -> dict[tuple[str, ...], float]:
        """Returns 1 or 0 by dependency and warning, for the metrics."""
        return {
            (name, warning): float(holds)
            for name, warnings in self.warnings().items()
            for warning, holds in warnings.items()
        }

    def describe(self) -> dict[str, object]:
        """Describes status, dependencies and the warnings that apply, as `/readyz` shows them."""
        dependencies = {name: "up" if is_up else "down" for name, is_up in self.dependencies().items()}
        held = {
            name: sorted(each for each, holds in warnings.items() if holds)
            for name, warnings in self.warnings().items()
        }
        described: dict[str, object] = {"status": self.status, "dependencies": dependencies}
        if warnings := {name: each for name, each in held.items() if each}:
            described["warnings"] = warnings
        return described

    async def check(self) -> None:
        """Pings each store once and logs changes."""
        errors = {backend: await _ping(backend) for backend in set(self._dependencies.values())}
        for dependency, backend in self._dependencies.items():
            error = errors[backend]
            if self._up[dependency] != (error is None):
                _report(dependency, backend, error)
            self._up[dependency] = error is None
        self._reasons = {
            dependency: str(error)
            for dependency, backend in self._dependencies.items()
            if (error := errors[backend])
        }
        self._reached_all = self._reached_all or all(self._up.values())


def _report(dependency: str, backend: Backend, error: BackendError | None) -> None:
    fields: dict[str, object] = {"dependency": dependency, "backend": backend.name}
    if error is None:
        log.info("dependency is up", extra={"fields": fields})
    else:
        log.error("dependency is down", extra={"fields": {**fields, "reason": str(error)}})


async def _ping(backend: Backend) -> BackendError | None:
    try:
        await backend.ping()
    except BackendError as error:
        log.debug("no answer", extra={"fields": describe_exception(error)})
        return error
    return None
