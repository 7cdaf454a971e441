"""Apps and their tables over HTTP. Paths and fields are contract."""

from functools import partial

from gateway.controlplane.encoding import encode_list
from gateway.controlplane.fields import checked, checked_name
from gateway.controlplane.routing import (
    MAX_AUDIT_CHARACTERS,
    Action,
    CallResult,
    ControlCall,
    Routes,
)
from gateway.controlplane.runtime import Runtime
from gateway.directory.apps.directory import Directory
from gateway.directory.errors import TableNotFound
from gateway.directory.records import AppChange, AppRecord, TableChange
from gateway.domain.rules import AppType, CallsPerMinute, OverlapSeconds, StorageBytes, TableCount, TableName

_APP = r"/v1/orgs/([^/]+)/apps/([^/]+)"
TABLES = _APP + r"/services/kvs/tables"


class AppRoutes:
    """Registers, changes, shows, suspends, resumes and removes apps."""

    def __init__(self, directory: Directory, runtime: Runtime) -> None:
        self._directory = directory
        self._runtime = runtime

    @property
    def routes(self) -> Routes:
        """Paths and methods."""
        return [
            (
                _APP,
                {
                    "GET": Action("app.show", "read", self.show),
                    "PUT": Action("app.register", "apps", self.register),
                    "PATCH": Action("app.change", "apps", self.change),
                    "DELETE": Action("app.remove", "apps", self.remove),
                },
            ),
            (_APP + r"/suspend", {"POST": Action("app.suspend", "apps", self.suspend)}),
            (_APP + r"/resume", {"POST": Action("app.resume", "apps", self.resume)}),
        ]

    async def show(self, call: ControlCall) -> CallResult:
        return CallResult(200, self._runtime.describe_app(await self._directory.find(call.environment)))

    async def register(self, call: ControlCall) -> CallResult:
        environment = call.environment
        wanted = AppRecord(
            environment=environment,
            type=checked(call.fields.get("type"), AppType, "invalid_type"),
            active=False,
            requests_per_minute=call.integer("requests_per_minute", CallsPerMinute),
            max_tables=call.integer("max_tables", TableCount),
            max_bytes=call.integer("max_bytes", StorageBytes),
        )
        call.note(
            type=wanted.type,
            requests_per_minute=wanted.requests_per_minute,
            max_tables=wanted.max_tables,
            max_bytes=wanted.max_bytes,
        )
        app, created = await self._directory.register(wanted, only_if_new=call.only_if_new)
        return CallResult(201 if created else 200, self._runtime.describe_app(app))

    async def change(self, call: ControlCall) -> CallResult:
        environment = call.environment
        change = AppChange(
            type=call.named("type", AppType),
            requests_per_minute=call.named("requests_per_minute", CallsPerMinute | None),
            max_tables=call.named("max_tables", TableCount | None),
            max_bytes=call.named("max_bytes", StorageBytes | None),
        )
        call.note(**change.named)
        return CallResult(
            200, self._runtime.describe_app(await self._directory.change_app(environment, change))
        )

    async def remove(self, call: ControlCall) -> CallResult:
        await self._directory.remove(call.environment)
        return CallResult(204)

    async def suspend(self, call: ControlCall) -> CallResult:
        app = await self._directory.suspend(call.environment)
        return CallResult(200, self._runtime.describe_app(app))

    async def resume(self, call: ControlCall) -> CallResult:
        app = await self._directory.resume(call.environment)
        return CallResult(200, self._runtime.describe_app(app))


class TableRoutes:
    """Creates, lists, shows, changes, rotates and deletes tables."""

    def __init__(self, directory: Directory, runtime: Runtime, default_overlap_seconds: int) -> None:
        self._directory = directory
        self._runtime = runtime
        self._default_overlap_seconds = default_overlap_seconds

    @property
    def routes(self) -> Routes:
        """Paths and methods."""
        return [
            (
                TABLES,
                {
                    "GET": Action("table.list", "read", self.list),
                    "POST": Action("table.create", "tables", self.create),
                },
            ),
            (
                TABLES + r"/([^/]+)",
                {
                    "GET": Action("table.show", "read", self.show),
                    "PATCH": Action("table.change", "tables", self.change),
                    "DELETE": Action("table.delete", "tables", self.delete),
                },
            ),
            (TABLES + r"/([^/]+)/rotate", {"POST": Action("table.rotate", "tables", self.rotate)}),
        ]

    async def list(self, call: ControlCall) -> CallResult:
        app = await self._directory.find(call.environment)
        described = partial(self._runtime.describe_table, app)
        return CallResult(200, await encode_list(app.tables, described))

    async def create(self, call: ControlCall) -> CallResult:
        environment = call.environment
        name = checked_name(call.fields.get("name"), TableName)
        call.note(table=name)
        minute_limit = call.integer("minute_limit", CallsPerMinute)
        app, token = await self._directory.create_table(environment, name, minute_limit)
        return CallResult(201, self._issued(app, name, token))

    async def show(self, call: ControlCall) -> CallResult:
        app = await self._directory.find(call.environment)
        return CallResult(200, self._described(app, call.parts[2]))

    async def change(self, call: ControlCall) -> CallResult:
        environment, name = call.environment, call.parts[2]
        call.note(table=name[:MAX_AUDIT_CHARACTERS])
        change = TableChange(minute_limit=call.named("minute_limit", CallsPerMinute | None))
        call.note(**change.named)
        app = await self._directory.change_table(environment, name, change)
        return CallResult(200, self._described(app, name))

    async def rotate(self, call: ControlCall) -> CallResult:
        environment, name = call.environment, call.parts[2]
        call.note(table=name[:MAX_AUDIT_CHARACTERS])
        overlap = call.integer("overlap_seconds", OverlapSeconds)
        overlap_seconds = self._default_overlap_seconds if overlap is None else overlap
        call.note(overlap_seconds=overlap_seconds)
        app, token = await self._directory.rotate_table(environment, name, overlap_seconds)
        return CallResult(200, self._issued(app, name, token))

    async def delete(self, call: ControlCall) -> CallResult:
        environment, name = call.environment, call.parts[2]
        call.note(table=name[:MAX_AUDIT_CHARACTERS])
        await self._directory.delete_table(environment, name)
        return CallResult(204)

    def _issued(self, app: AppRecord, name: str, token: str) -> dict[str, object]:
        return {
            "table": self._described(app, name),
            "token": token,
            "runtime": self._runtime.variables(name, token),
        }

    def _described(self, app: AppRecord, name: str) -> dict[str, object]:
        table = app.table(name)
        if table is None:
            raise TableNotFound
        return self._runtime.describe_table(app, table)
