"""Which dependencies answer, and whether this replica should be sent traffic."""

import logging
from collections.abc import Mapping
from enum import StrEnum

from backends.errors import BackendError
from backends.interface import Backend
from gateway.faults import describe_fault

log = logging.getLogger("kvs.health")


class Status(StrEnum):
    """What `/readyz` says."""

    READY = "ready"
    STARTING = "starting"
    DRAINING = "draining"


class Health:
    """Ready once every dependency was reached; strictly, only while all are."""

    def __init__(self, dependencies: Mapping[str, Backend], *, strict: bool) -> None:
        self._dependencies = dependencies
        self._strict = strict
        self._up = dict.fromkeys(dependencies, False)
        self._reached_all = False
        self.draining = False

    @property
    def status(self) -> Status:
        """The replica's state now."""
        if self.draining:
            return Status.DRAINING
        is_ready = all(self._up.values()) if self._strict else self._reached_all
        return Status.READY if is_ready else Status.STARTING

    def dependencies(self) -> dict[str, bool]:
        """Which dependencies answered when last asked."""
        return dict(self._up)

    async def check(self) -> None:
        """Ask each store once; changes are logged."""
        answers = {backend: await _answers(backend) for backend in set(self._dependencies.values())}
        for dependency, backend in self._dependencies.items():
            is_up = answers[backend]
            if is_up != self._up[dependency]:
                log.log(
                    logging.INFO if is_up else logging.ERROR,
                    "dependency is up" if is_up else "dependency is down",
                    extra={"fields": {"dependency": dependency, "backend": backend.name}},
                )
            self._up[dependency] = is_up
        self._reached_all = self._reached_all or all(self._up.values())


async def _answers(backend: Backend) -> bool:
    try:
        await backend.ping()
    except BackendError as error:
        log.debug("no answer", extra={"fields": describe_fault(error)})
        return False
    return True
