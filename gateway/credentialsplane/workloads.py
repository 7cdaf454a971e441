"""From a token to the workload that it proves: a token in the configuration, or a JWT of a known issuer."""

from collections.abc import Sequence
from hashlib import sha256

from msgspec import Struct

from gateway.config.settings import WorkloadPlace, WorkloadSettings
from gateway.domain.errors import InvalidIdentity
from gateway.domain.model import Environment


class Workload(Struct, frozen=True):
    """Who has asked, and which role in which app environment it is given credentials for.

    `issuer` vouches for it, to `audience`; both are None where the configuration itself does.
    """

    role: str
    environment: Environment
    subject: str
    issuer: str | None = None
    audience: str | None = None


class Workloads:
    """All that the configuration names.

    Tokens are known by their SHA-256: how long a lookup takes tells nobody how near a guess was.
    """

    def __init__(self, every: Sequence[WorkloadSettings]) -> None:
        self._by_token = {
            sha256(each.token.encode()).digest(): _workload(each, f"workloads[{index}].tokens[{place}]")
            for index, workloads in enumerate(every)
            for place, each in enumerate(workloads.tokens)
        }

    async def find(self, token: bytes) -> Workload:
        """The workload that a token of either kind proves. Raises WorkloadRefusal."""
        workload = self._by_token.get(sha256(token).digest())
        return await self.find_by_jwt(token) if workload is None else workload

    async def find_by_jwt(self, _token: bytes) -> Workload:
        """The workload that an issuer vouches for. Raises WorkloadRefusal."""
        raise InvalidIdentity


def _workload(place: WorkloadPlace, subject: str) -> Workload:
    return Workload(place.role, Environment(place.org, place.app, place.env), subject)
