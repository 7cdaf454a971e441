"""The access log: one line for a sampled share of all requests, and for those that need attention.

Failures and refused callers are always logged, at most `LINES_PER_SECOND` of each (D48).
"""

import logging
import re
from random import random

from gateway.dataplane.pipeline import Served
from gateway.domain.errors import BindingInactive, UnsupportedAppType
from gateway.domain.model import Caller, Operation
from gateway.http.messages import Request
from gateway.observability.logs import LogThrottle
from gateway.observability.metrics import OTHER_OPERATION
from gateway.sigv4 import stated_access_key_id

log = logging.getLogger("kvs.access")

LINES_PER_SECOND = 20
"""Separate limits for failures and for refused callers, so that an attack cannot hide failures."""

_ADMISSION = (BindingInactive.code, UnsupportedAppType.code)
"""Refusals with 403 that do not concern the identity of the caller."""

_LONGEST_ROLE = 256

_ACCESS_KEY_ID = re.compile(r"[A-Z0-9_]{1,128}")
UNKNOWN = "unknown"
"""Replaces a malformed access key id, which may be a secret in the wrong place."""


class AccessLog:
    """Writes the log lines. `share` is the sampled share of all requests, 0 to 1."""

    def __init__(self, share: float) -> None:
        self.share = share
        self._throttle = LogThrottle(LINES_PER_SECOND, seconds=1.0)

    def note(self, request: Request, operation: Operation | None, served: Served, seconds: float) -> None:
        """Logs an answered request if it is sampled, failed, or its caller was refused."""
        answer, tenant, caller = served
        is_failure = answer.status >= 500
        is_refused_caller = answer.status in (401, 403) and answer.code not in _ADMISSION
        is_sampled = self.share > 0 and random() < self.share  # noqa: S311
        if is_failure or (is_refused_caller and not is_sampled):
            if not self._throttle.admits("failure" if is_failure else "caller"):
                return
        elif not is_sampled:
            return
        fields = {
            "request_id": request.id,
            "tenant": None if tenant is None else [tenant.org, tenant.app, tenant.env, tenant.table],
            "operation": operation or OTHER_OPERATION,
            "status": answer.status,
            "code": answer.code,
            "duration_ms": round(seconds * 1000, 3),
            "request_bytes": request.body.total_bytes,
            "response_bytes": len(answer.body),
        }
        if is_refused_caller:
            fields |= _names(request, caller)
        level = logging.WARNING if is_failure or is_refused_caller else logging.INFO
        log.log(level, "request", extra={"fields": fields})


def _names(request: Request, caller: Caller | None) -> dict[str, str | None]:
    """Names the caller: the proven identity, else the access key id of the request, if well-formed."""
    if caller is None:
        return {"peer": request.peer, "role": None, "access_key_id": _stated_access_key_id(request)}
    role = caller.role[:_LONGEST_ROLE]
    return {"peer": request.peer, "role": role, "access_key_id": caller.access_key_id}


def _stated_access_key_id(request: Request) -> str | None:
    stated = stated_access_key_id(request.headers)
    return stated if stated is None or _ACCESS_KEY_ID.fullmatch(stated) else UNKNOWN
