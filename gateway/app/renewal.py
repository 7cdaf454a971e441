"""What a changed file changes without a restart: callers, control tokens, declared apps, passwords."""

import msgspec
from msgspec import Struct

from backends.clock import Clock
from gateway.app.callers import Callers, build_callers
from gateway.app.stores import Stores
from gateway.config.apps import declared_apps
from gateway.config.contradictions import find_contradictions
from gateway.config.problems import Problems
from gateway.config.settings import Settings
from gateway.controlplane.credentials import CredentialCalls
from gateway.controlplane.handler import ControlEdge
from gateway.dataplane.pipeline import Pipeline
from gateway.dataplane.policies.binding import TableTokenPolicy
from gateway.directory.bindings import CachedBindings
from gateway.directory.declared import DeclaredApps
from gateway.directory.directory import Directory

_RENEWED = ("signature", "control", "apps")
_STORES = ("store", "counters")


class Renewed(Struct, frozen=True):
    """Ready to be put in force: `file` is what was read, `settings` what will hold."""

    file: Settings
    settings: Settings
    callers: Callers
    declared: DeclaredApps


class Renewal(Struct):
    """Replaces what may be replaced in a running app; `settings` are those in force."""

    settings: Settings
    clock: Clock
    stores: Stores
    declared: DeclaredApps
    bindings: CachedBindings
    directory: Directory
    pipeline: Pipeline
    control: ControlEdge
    credential_calls: CredentialCalls

    def prepare(self, file: Settings) -> Renewed:
        """Make everything new; touches nothing, so it may run in a thread. Raises InvalidConfiguration."""
        changes = {section: getattr(file, section) for section in _RENEWED}
        settings = msgspec.structs.replace(self.settings, **changes)
        problems = Problems()
        find_contradictions(settings, problems)
        problems.raise_any()
        return Renewed(file, settings, build_callers(settings, self.clock), build_declared(settings))

    def put_in_force(self, renewed: Renewed) -> list[str]:
        """From the next call on. Returns the sections that differ and need a restart."""
        self.pipeline.renew(renewed.callers.policy, build_table_token(renewed.settings, self.bindings))
        self.credential_calls.issuer = renewed.callers.issuer
        self.control.replace_tokens(renewed.settings.control.tokens)
        self.declared.replace(renewed.declared)
        self.directory.changed.set()
        self.settings = renewed.settings
        return self._left_alone(renewed.file)

    def _left_alone(self, file: Settings) -> list[str]:
        kept = _STORES if self.stores.renew(file) else ()
        return [
            section
            for section in Settings.__struct_fields__
            if section not in kept and getattr(file, section) != getattr(self.settings, section)
        ]


def build_declared(settings: Settings) -> DeclaredApps:
    """The file's apps."""
    return DeclaredApps(declared_apps(settings), settings.rate_limit.requests_per_minute)


def build_table_token(settings: Settings, bindings: CachedBindings) -> TableTokenPolicy:
    """Layer 2; without layer 1 it takes the token from another header, too."""
    if settings.signature.mode == "off":
        return TableTokenPolicy.for_development(bindings)
    return TableTokenPolicy(bindings)
