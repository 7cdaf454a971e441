"""The control plane's calls: tables, apps, session credentials. Paths and fields are contract."""

from collections.abc import Sequence

from gateway.controlplane import fields
from gateway.controlplane.handler import ControlCall, Done, Routes
from gateway.controlplane.runtime import Runtime
from gateway.credentials.session import Issuer
from gateway.directory.directory import Directory
from gateway.directory.records import AppRecord
from gateway.domain.answers import iso_instant
from gateway.domain.errors import InvalidField, SessionCredentialsDisabled, TableNotFound
from gateway.domain.model import Environment
from gateway.domain.rules import (
    DEFAULT_SESSION_SECONDS,
    AppType,
    CallsPerMinute,
    OverlapSeconds,
    Role,
    SessionSeconds,
    TableCount,
    TableName,
)

_APPS = r"/v1/orgs/([^/]+)/apps"
_APP = _APPS + r"/([^/]+)"
_TABLES = _APP + r"/services/kvs/tables"


class TableCalls:
    """Create, list, rotate and delete tables."""

    def __init__(self, directory: Directory, runtime: Runtime, default_overlap_seconds: int) -> None:
        self._directory = directory
        self._runtime = runtime
        self._default_overlap_seconds = default_overlap_seconds

    @property
    def routes(self) -> Routes:
        """Paths and methods."""
        return [
            (_TABLES, {"GET": self.list, "POST": self.create}),
            (_TABLES + r"/([^/]+)", {"DELETE": self.delete}),
            (_TABLES + r"/([^/]+)/rotate", {"POST": self.rotate}),
        ]

    async def list(self, call: ControlCall) -> Done:
        app = await self._directory.find(_environment(call))
        return Done(200, [self._runtime.describe_table(app, table) for table in app.tables])

    async def create(self, call: ControlCall) -> Done:
        environment = _environment(call)
        name = fields.name(call.fields.get("name"), TableName)
        minute_limit = fields.optional_integer(call.fields, "minute_limit", CallsPerMinute)
        app, token = await self._directory.create_table(environment, name, minute_limit)
        return Done(201, self._issued(app, name, token), _audit("table.create", environment, table=name))

    async def rotate(self, call: ControlCall) -> Done:
        environment, name = _environment(call), call.parts[2]
        overlap = fields.optional_integer(call.fields, "overlap_seconds", OverlapSeconds)
        overlap_seconds = self._default_overlap_seconds if overlap is None else overlap
        app, token = await self._directory.rotate_table(environment, name, overlap_seconds)
        audit = _audit("table.rotate", environment, table=name, overlap_seconds=overlap_seconds)
        return Done(200, self._issued(app, name, token), audit)

    async def delete(self, call: ControlCall) -> Done:
        environment, name = _environment(call), call.parts[2]
        await self._directory.delete_table(environment, name)
        return Done(204, audit=_audit("table.delete", environment, table=name))

    def _issued(self, app: AppRecord, name: str, token: str) -> dict[str, object]:
        table = app.table(name)
        if table is None:
            raise TableNotFound
        return {
            "table": self._runtime.describe_table(app, table),
            "token": token,
            "runtime": self._runtime.variables(name, token),
        }


class AppCalls:
    """Register, show, list, suspend, resume and remove apps."""

    def __init__(self, directory: Directory, runtime: Runtime) -> None:
        self._directory = directory
        self._runtime = runtime

    @property
    def routes(self) -> Routes:
        """Paths and methods."""
        return [
            (_APPS, {"GET": self.list}),
            (_APP, {"GET": self.show, "PUT": self.register, "DELETE": self.remove}),
            (_APP + r"/suspend", {"POST": self.suspend}),
            (_APP + r"/resume", {"POST": self.resume}),
        ]

    async def list(self, call: ControlCall) -> Done:
        apps = [app async for app in self._directory.all(fields.name(call.parts[0]))]
        apps.sort(key=lambda app: app.environment)
        return Done(200, [self._runtime.describe_app(app) for app in apps])

    async def show(self, call: ControlCall) -> Done:
        return Done(200, self._runtime.describe_app(await self._directory.find(_environment(call))))

    async def register(self, call: ControlCall) -> Done:
        environment = _environment(call)
        wanted = AppRecord(
            environment=environment,
            type=fields.checked(call.fields.get("type"), AppType, "invalid_type"),
            active=False,
            requests_per_minute=fields.optional_integer(call.fields, "requests_per_minute", CallsPerMinute),
            max_tables=fields.optional_integer(call.fields, "max_tables", TableCount),
        )
        app, created = await self._directory.register(wanted)
        audit = _audit(
            "app.register",
            environment,
            type=app.type,
            requests_per_minute=app.requests_per_minute,
            max_tables=app.max_tables,
        )
        return Done(201 if created else 200, self._runtime.describe_app(app), audit)

    async def remove(self, call: ControlCall) -> Done:
        environment = _environment(call)
        await self._directory.remove(environment)
        return Done(204, audit=_audit("app.remove", environment))

    async def suspend(self, call: ControlCall) -> Done:
        environment = _environment(call)
        app = await self._directory.suspend(environment)
        return Done(200, self._runtime.describe_app(app), _audit("app.suspend", environment))

    async def resume(self, call: ControlCall) -> Done:
        environment = _environment(call)
        app = await self._directory.resume(environment)
        return Done(200, self._runtime.describe_app(app), _audit("app.resume", environment))


class CredentialCalls:
    """Issue session credentials for approved roles."""

    def __init__(self, issuer: Issuer) -> None:
        self.issuer = issuer

    @property
    def routes(self) -> Routes:
        """Paths and methods."""
        return [(r"/v1/credentials", {"POST": self.issue})]

    async def issue(self, call: ControlCall) -> Done:
        issuer = self.issuer
        if issuer.sessions is None:
            raise SessionCredentialsDisabled
        ttl_seconds = fields.checked(call.fields.get("ttl_seconds"), SessionSeconds | None, "invalid_ttl")
        if ttl_seconds is None:
            ttl_seconds = min(DEFAULT_SESSION_SECONDS, issuer.max_ttl_seconds)
        elif ttl_seconds > issuer.max_ttl_seconds:
            raise InvalidField("invalid_ttl")
        environment = _bound_environment(call.fields)
        role = fields.checked(call.fields.get("role"), Role, "role_not_approved")
        if not issuer.roles.approves(role):
            raise InvalidField("role_not_approved")
        issued = issuer.sessions.issue(role, ttl_seconds, environment)
        body = {
            "Version": 1,
            "AccessKeyId": issued.access_key_id,
            "SecretAccessKey": issued.secret_access_key,
            "SessionToken": issued.session_token,
            "Expiration": iso_instant(issued.expires_at_seconds * 1000),
        }
        audit = _audit(
            "credentials.issue",
            environment,
            role=role,
            ttl_seconds=ttl_seconds,
            access_key_id=issued.access_key_id,
        )
        return Done(200, body, audit)


def _environment(call: ControlCall) -> Environment:
    return fields.environment(call.parts[0], call.parts[1], call.query)


def _bound_environment(sent: fields.Fields) -> Environment | None:
    parts: Sequence[object] = [sent.get(part) for part in ("org", "app", "env")]
    if all(part is None for part in parts):
        return None
    return Environment(*(fields.name(part) for part in parts))


def _audit(action: str, environment: Environment | None, **details: object) -> dict[str, object]:
    where = None if environment is None else str(environment)
    return {"action": action, "environment": where, **details}
