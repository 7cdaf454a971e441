"""Session credentials without a database: a token signed with a master key, and a secret derived from both.

token     base64url(claims) "." base64url(HMAC-SHA256(master key, claims))
secret    base64url(HMAC-SHA256(master key, "secret" + token))

One key makes both digests, so their inputs must never be equal: claims are a JSON object and begin with a
brace, the other input begins with the label "secret". A token alone does not reveal its secret (D22). The
first master key signs new tokens, and all of them verify; a token names its key by a derived identifier.
"""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from secrets import choice
from string import ascii_uppercase, digits

import msgspec
from cachetools import LRUCache
from msgspec import Struct

from backends.clock import Clock
from gateway.credentials.keyring import AccessKey, ApprovedRoles
from gateway.domain.answers import iso_instant
from gateway.domain.errors import ExpiredCredentials, InvalidCredentials
from gateway.domain.model import Caller, Environment

_MAX_TOKEN_BYTES = 4096
_CACHED_SESSIONS = 10_000


class SessionClaims(Struct, frozen=True, forbid_unknown_fields=True):
    """The claims in a session token. Times are seconds since 1970."""

    key_id: str
    access_key_id: str
    role: str
    issued_at: int
    expires_at: int
    environment: Environment | None = None


class IssuedSession(Struct, frozen=True):
    """Credentials that a workload signs with; shown once."""

    access_key_id: str
    secret_access_key: str
    session_token: str
    expires_at_seconds: int

    def __repr__(self) -> str:
        return f"IssuedSession(access_key_id={self.access_key_id!r})"


class _Session(Struct, frozen=True):
    key: AccessKey
    access_key_id: str
    expires_at_seconds: int


class SessionCredentials:
    """Issues and opens session credentials."""

    def __init__(self, master_keys: Sequence[str], clock: Clock) -> None:
        self._master_keys = {_key_id(key.encode()): key.encode() for key in master_keys}
        self._clock = clock
        self._opened: LRUCache[bytes, _Session] = LRUCache(_CACHED_SESSIONS)

    def issue(self, role: str, ttl_seconds: int, environment: Environment | None) -> IssuedSession:
        """Issues credentials for `role` with the first master key."""
        key_id, master_key = next(iter(self._master_keys.items()))
        now_seconds = self._clock.wall_ms() // 1000
        claims = SessionClaims(
            key_id=key_id,
            access_key_id="ASIA" + "".join(choice(ascii_uppercase + digits) for _ in range(16)),
            role=role,
            issued_at=now_seconds,
            expires_at=now_seconds + ttl_seconds,
            environment=environment,
        )
        text = msgspec.json.encode(claims)
        token = _encode(text) + b"." + _encode(hmac.digest(master_key, text, "sha256"))
        return IssuedSession(
            access_key_id=claims.access_key_id,
            secret_access_key=_derive_secret(master_key, token).decode(),
            session_token=token.decode(),
            expires_at_seconds=claims.expires_at,
        )

    def open(self, session_token: bytes, access_key_id: str) -> AccessKey:
        """Returns the access key inside. Raises InvalidCredentials or ExpiredCredentials."""
        session = self._opened.get(session_token)
        if session is None:
            session = self._opened[session_token] = self._verify(session_token)
        if session.access_key_id != access_key_id:
            raise InvalidCredentials(detail="the session token belongs to another access key")
        if session.expires_at_seconds * 1000 <= self._clock.wall_ms():
            expired_at = iso_instant(session.expires_at_seconds * 1000)
            raise ExpiredCredentials(detail=f"session token expired at {expired_at}")
        return session.key

    def _verify(self, token: bytes) -> _Session:
        if len(token) > _MAX_TOKEN_BYTES:
            raise InvalidCredentials
        encoded_claims, _, encoded_proof = token.partition(b".")
        text, proof = _decode(encoded_claims), _decode(encoded_proof)
        try:
            claims = msgspec.json.decode(text, type=SessionClaims)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise InvalidCredentials from None
        master_key = self._master_keys.get(claims.key_id)
        if master_key is None or not hmac.compare_digest(hmac.digest(master_key, text, "sha256"), proof):
            raise InvalidCredentials
        caller = Caller(claims.role, claims.environment, claims.access_key_id)
        key = AccessKey(_derive_secret(master_key, token), caller)
        return _Session(key, claims.access_key_id, claims.expires_at)


def _key_id(master_key: bytes) -> str:
    return hmac.digest(master_key, b"key id", "sha256").hex()[:16]


def _derive_secret(master_key: bytes, token: bytes) -> bytes:
    return _encode(hmac.digest(master_key, b"secret" + token, "sha256"))


def _encode(data: bytes) -> bytes:
    return urlsafe_b64encode(data).rstrip(b"=")


def _decode(text: bytes) -> bytes:
    """Decodes canonical base64url. Raises InvalidCredentials for another spelling of the same bytes."""
    try:
        data = urlsafe_b64decode(text + b"=" * (-len(text) % 4))
    except ValueError:
        raise InvalidCredentials from None
    if _encode(data) != text:
        raise InvalidCredentials
    return data


class Issuer(Struct, frozen=True):
    """Session credentials for approved roles. `sessions` is None if no master key is configured."""

    sessions: SessionCredentials | None
    roles: ApprovedRoles
    max_ttl_seconds: int
