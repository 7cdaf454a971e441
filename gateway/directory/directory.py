"""Declared and managed apps side by side, as the control plane sees them."""

from collections.abc import Iterator
from contextlib import contextmanager

from gateway.directory.apps.managed import ManagedApps
from gateway.directory.declared import DeclaredApps
from gateway.directory.errors import AppIsDeclared, ControlRefusal
from gateway.directory.records import AppChange, AppRecord, TableChange
from gateway.directory.resolve.bindings import CachedBindings
from gateway.domain.model import Environment


class Directory:
    """Every rule of the control plane. A change is in effect on this replica when its call returns."""

    def __init__(self, declared: DeclaredApps, managed: ManagedApps, bindings: CachedBindings) -> None:
        self._declared = declared
        self._managed = managed
        self._bindings = bindings

    def declare(self, apps: DeclaredApps) -> None:
        """Hold these declared apps in place of the former ones."""
        self._declared.exchange(apps)

    async def find(self, environment: Environment) -> AppRecord:
        """The app. Raises AppNotFound."""
        return self._declared.find(environment) or await self._managed.find(environment)

    async def register(self, app: AppRecord, *, only_if_new: bool = False) -> tuple[AppRecord, bool]:
        """Create or replace; the second value tells whether the app is new. Raises AppExists."""
        with self._changing(app.environment):
            return await self._managed.register(app, only_if_new=only_if_new)

    async def change_app(self, environment: Environment, change: AppChange) -> AppRecord:
        """Change of the app what is named. Raises AppNotFound."""
        with self._changing(environment):
            return await self._managed.change_app(environment, change)

    async def remove(self, environment: Environment) -> None:
        """Remove the app with its tables."""
        with self._changing(environment):
            await self._managed.remove(environment)

    async def suspend(self, environment: Environment) -> AppRecord:
        """Refuse all calls of the app until it is resumed."""
        with self._changing(environment):
            return await self._managed.suspend(environment)

    async def resume(self, environment: Environment) -> AppRecord:
        """Serve the app again."""
        with self._changing(environment):
            return await self._managed.resume(environment)

    async def create_table(
        self, environment: Environment, name: str, minute_limit: int | None
    ) -> tuple[AppRecord, str]:
        """The app with its new table, and the table's token."""
        with self._changing(environment):
            return await self._managed.create_table(environment, name, minute_limit)

    async def rotate_table(
        self, environment: Environment, name: str, overlap_seconds: int
    ) -> tuple[AppRecord, str]:
        """The app, and the table's new token."""
        with self._changing(environment):
            return await self._managed.rotate_table(environment, name, overlap_seconds)

    async def change_table(self, environment: Environment, name: str, change: TableChange) -> AppRecord:
        """Change of the table what is named. Raises AppNotFound and TableNotFound."""
        with self._changing(environment):
            return await self._managed.change_table(environment, name, change)

    async def delete_table(self, environment: Environment, name: str) -> None:
        """Remove the table; its entries are reclaimed in the background."""
        with self._changing(environment):
            await self._managed.delete_table(environment, name)

    @contextmanager
    def _changing(self, environment: Environment) -> Iterator[None]:
        if self._declared.find(environment) is not None:
            raise AppIsDeclared
        try:
            yield
        except ControlRefusal:  # nothing was changed
            raise
        except BaseException:  # cancelled, too: the swap may have been applied
            self._bindings.expire(environment)
            raise
        self._bindings.invalidate(environment)
