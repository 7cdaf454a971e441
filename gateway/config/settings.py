"""The shape of the configuration: the type, range and default of each key.

Units are in the names. `config.example.yaml` explains each key; a test compares the two.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from backends import MemorySettings, StoreSettings
from gateway.domain.rules import (
    DEFAULT_ENV,
    AccessKeyId,
    AppType,
    BearerName,
    CallsPerMinute,
    Limits,
    MasterKey,
    Name,
    OverlapSeconds,
    Permission,
    Region,
    Role,
    ScopePattern,
    Secret,
    SessionSeconds,
    StorageBytes,
    TableCount,
    TableName,
    VariablePrefix,
)

Host = Annotated[str, Meta(pattern=r"^[A-Za-z0-9.:%_-]{1,255}\Z", description="a host name or IP address")]
Url = Annotated[
    str,
    Meta(
        pattern=r"^https?://[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._~-]+)*\Z",
        description="an http or https URL without spaces, query or trailing slash",
    ),
]
HostName = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9.:\[\]-]{1,255}\Z",
        description="a host name, with a port if needed, without a scheme",
    ),
]
ServedName = Annotated[
    str,
    Meta(
        pattern=r"^([A-Za-z0-9._-]{1,255}|\[?[0-9A-Fa-f.]*:[0-9A-Fa-f.]*:[0-9A-Fa-f.:]{0,40}\]?)\Z",
        description="a host name or IP address without a port",
    ),
]
Claim = Annotated[
    str,
    Meta(
        pattern=r"^[!-~]([ -~]{0,1022}[!-~])?\Z",
        description="printable ASCII characters, without spaces at the ends, at most 1024",
    ),
]
Text = Annotated[str, Meta(min_length=1)]
Port = Annotated[int, Meta(ge=0, le=65_535)]
Seconds = Annotated[float, Meta(gt=0, le=86_400)]
Sha256 = Annotated[
    str, Meta(pattern=r"^[0-9a-f]{64}\Z", description="a SHA-256 as 64 lower-case hexadecimal digits")
]
HeaderName = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9-]{1,64}\Z",
        description="a header name of letters, digits and hyphens, at most 64",
    ),
]
HeaderText = Annotated[
    str,
    Meta(
        pattern=r"^[!-~]([ -~]{0,8190}[!-~])?\Z",
        description="printable ASCII characters, without spaces at the ends, at most 8192",
    ),
]


def is_url(jwks: str) -> bool:
    """Returns whether `jwks` is a URL; otherwise it names a file."""
    return jwks.startswith(("http://", "https://"))


class Section(Struct, frozen=True, forbid_unknown_fields=True):
    """A mapping of the file. Its repr shows no values, because some are secret."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(...)"


class TlsSettings(Section, frozen=True):
    certificate: Text
    key: Text


class DataListener(Section, frozen=True):
    host: Host = "127.0.0.1"
    port: Port = 8080
    reuse_port: bool = False
    tls: TlsSettings | None = None


class OpsListener(Section, frozen=True):
    host: Host = "127.0.0.1"
    port: Port = 9090
    hosts: list[ServedName] = field(default_factory=list)


class ControlListener(Section, frozen=True):
    host: Host = "127.0.0.1"
    port: Port = 8081
    hosts: list[ServedName] = field(default_factory=list)
    tls: TlsSettings | None = None


class CredentialsListener(Section, frozen=True):
    host: Host = "127.0.0.1"
    port: Port = 8082
    hosts: list[ServedName] = field(default_factory=list)
    tls: TlsSettings | None = None
    requests_per_minute_per_address: CallsPerMinute = 600


Listening = DataListener | OpsListener | ControlListener | CredentialsListener
LISTENERS = ("data", "ops", "control", "credentials")


class ListenSettings(Section, frozen=True):
    data: DataListener = DataListener()
    ops: OpsListener = OpsListener()
    control: ControlListener = ControlListener()
    credentials: CredentialsListener | None = None

    @property
    def named(self) -> dict[str, Listening]:
        """The configured listeners, by name."""
        every = {name: getattr(self, name) for name in LISTENERS}
        return {name: listener for name, listener in every.items() if listener is not None}

    @property
    def tls(self) -> dict[str, TlsSettings]:
        """TLS settings, by the names of the listeners that have them."""
        every = {name: getattr(listener, "tls", None) for name, listener in self.named.items()}
        return {name: tls for name, tls in every.items() if tls is not None}


class ControlToken(Section, frozen=True):
    name: BearerName
    token: Text
    allow: Literal["all"] | Annotated[list[Permission], Meta(min_length=1)]
    orgs: list[ScopePattern] = field(default_factory=list)
    apps: list[ScopePattern] = field(default_factory=list)


class IdentityRule(Section, frozen=True):
    """Permissions of callers whose claim equals `value`, or is a list that contains it."""

    claim: Claim
    value: Claim
    allow: Literal["all"] | Annotated[list[Permission], Meta(min_length=1)]
    orgs: list[ScopePattern] = field(default_factory=list)
    apps: list[ScopePattern] = field(default_factory=list)


class OidcIssuer(Section, frozen=True):
    issuer: Claim
    audience: Claim
    jwks: Text
    client_id: Claim | None = None
    rules: list[IdentityRule] = field(default_factory=list)


class ControlSettings(Section, frozen=True):
    tokens: list[Text | ControlToken] = field(default_factory=list)
    oidc: list[OidcIssuer] = field(default_factory=list)
    allow_insecure: bool = False

    @property
    def bearers(self) -> list[ControlToken]:
        """All tokens with their names; a plain string has every permission."""
        return [
            ControlToken(name=f"token-{number}", token=each, allow="all") if isinstance(each, str) else each
            for number, each in enumerate(self.tokens, 1)
        ]


class ConsoleSettings(Section, frozen=True):
    enabled: bool = True
    prometheus: Url | None = None


class WorkloadRole(Section, frozen=True):
    """The role and app environment of the credentials that a workload gets."""

    role: Role
    org: Name
    app: Name
    env: Name = DEFAULT_ENV


class WorkloadSubject(WorkloadRole, frozen=True, kw_only=True):
    subject: Claim


class WorkloadToken(WorkloadRole, frozen=True, kw_only=True):
    token: Text


class WorkloadSettings(Section, frozen=True):
    """Workloads of one issuer, or with configured tokens."""

    issuer: Claim | None = None
    audience: Claim | None = None
    jwks: Text | None = None
    subjects: list[WorkloadSubject] = field(default_factory=list)
    tokens: list[WorkloadToken] = field(default_factory=list)


class StaticCredential(Section, frozen=True):
    access_key_id: AccessKeyId
    secret_access_key: Secret
    role: Text


class SessionSettings(Section, frozen=True):
    master_keys: Annotated[list[MasterKey], Meta(min_length=1)]
    max_ttl_seconds: SessionSeconds = 43_200


class TrustedProxySettings(Section, frozen=True):
    caller_header: HeaderName = "X-KVS-Caller-Arn"
    secret_header: HeaderName = "X-KVS-Proxy-Secret"  # noqa: S105 - a name
    secret: Secret | Annotated[list[Secret], Meta(min_length=1)] | None = None
    networks: list[Text] = field(default_factory=list)

    @property
    def secrets(self) -> list[str]:
        """All accepted secrets; none if only networks are checked."""
        return [self.secret] if isinstance(self.secret, str) else self.secret or []


class CredentialSettings(Section, frozen=True):
    static: list[StaticCredential] = field(default_factory=list)
    session: SessionSettings | None = None
    trusted_proxy: TrustedProxySettings | None = None


class SignatureSettings(Section, frozen=True):
    mode: Literal["required", "off"] = "required"
    allow_public: bool = False
    clock_skew_seconds: Annotated[int, Meta(ge=1, le=900)] = 300
    approved_roles: list[Text] = field(default_factory=lambda: ["arn:aws:iam::*:role/managed-app-*"])
    denied_roles: list[Text] = field(default_factory=list)
    denied_access_keys: list[AccessKeyId] = field(default_factory=list)
    denied_networks: list[Text] = field(default_factory=list)
    credentials: CredentialSettings = CredentialSettings()


class RateLimitSettings(Section, frozen=True):
    requests_per_minute: CallsPerMinute = 600
    on_failure: Literal["refuse", "allow"] = "refuse"
    headers: bool = False


class DirectorySettings(Section, frozen=True):
    cache_ttl_seconds: Annotated[float, Meta(ge=0, le=3600)] = 60
    stale_ttl_seconds: Annotated[float, Meta(ge=0, le=86_400)] = 600
    rotation_overlap_seconds: OverlapSeconds = 0
    max_tables: TableCount = 3


class RuntimeSettings(Section, frozen=True):
    variable_prefix: VariablePrefix = "SERVICE"


class DeclaredTable(Section, frozen=True):
    name: TableName
    token: Text | None = None
    token_sha256: Sha256 | None = None
    minute_limit: CallsPerMinute | None = None


class DeclaredAppSettings(Section, frozen=True):
    org: Name
    app: Name
    type: AppType
    env: Name = DEFAULT_ENV
    status: Literal["active", "inactive"] = "active"
    requests_per_minute: CallsPerMinute | None = None
    max_tables: TableCount | None = None
    max_bytes: StorageBytes | None = None
    tables: list[DeclaredTable] = field(default_factory=list)


class MeteringSettings(Section, frozen=True):
    max_series: Annotated[int, Meta(ge=57, le=10_000_000)] = 100_000
    idle_seconds: Annotated[float, Meta(ge=1, le=31_536_000)] = 3600
    first_sample_seconds: Annotated[float, Meta(ge=0, le=3600)] = 60


class LoggingSettings(Section, frozen=True):
    level: Literal["debug", "info", "warning", "error"] = "info"
    access: Annotated[float, Meta(ge=0, le=1)] = 0.0


class TracingSettings(Section, frozen=True):
    endpoint: Url = "http://127.0.0.1:4318/v1/traces"
    share: Annotated[float, Meta(ge=0, le=1)] = 0.01
    service_name: Text = "kvs-gateway"
    headers: dict[HeaderName, HeaderText] = field(default_factory=dict)


class EdgeSettings(Section, frozen=True):
    max_connections: Annotated[int, Meta(ge=1, le=1_000_000)] = 10_000
    max_connections_per_address: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    max_in_flight: Annotated[int, Meta(ge=1, le=1_000_000)] = 1000
    head_seconds: Seconds = 5
    body_seconds: Seconds = 10
    idle_seconds: Seconds = 75
    write_seconds: Seconds = 10


class ShutdownSettings(Section, frozen=True):
    drain_seconds: Annotated[float, Meta(ge=0, le=3600)] = 10
    grace_seconds: Annotated[float, Meta(ge=0, le=3600)] = 30


class Settings(Section, frozen=True):
    """The whole file. Only `region` has no default."""

    region: Region
    public_url: Url = "http://127.0.0.1:8080"
    public_hosts: list[HostName] = field(default_factory=list)
    listen: ListenSettings = ListenSettings()
    control: ControlSettings = ControlSettings()
    workloads: list[WorkloadSettings] = field(default_factory=list)
    console: ConsoleSettings = ConsoleSettings()
    signature: SignatureSettings = SignatureSettings()
    limits: Limits = Limits()
    rate_limit: RateLimitSettings = RateLimitSettings()
    store: StoreSettings = MemorySettings()
    counters: StoreSettings | None = None
    directory: DirectorySettings = DirectorySettings()
    runtime: RuntimeSettings = RuntimeSettings()
    apps: list[DeclaredAppSettings] = field(default_factory=list)
    metering: MeteringSettings = MeteringSettings()
    logging: LoggingSettings = LoggingSettings()
    tracing: TracingSettings | None = None
    edge: EdgeSettings = EdgeSettings()
    readiness: Literal["reached_once", "strict"] = "reached_once"
    shutdown: ShutdownSettings = ShutdownSettings()
