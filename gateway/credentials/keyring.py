"""Finds the secret and the caller of an access key id, and decides which roles are approved."""

import re
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Protocol

from msgspec import Struct

from gateway.domain.errors import InvalidCredentials
from gateway.domain.model import Caller


class AccessKey(Struct, frozen=True):
    """The secret of an access key id, and the caller that a signature made with it proves."""

    secret: bytes
    caller: Caller

    def __repr__(self) -> str:
        return f"AccessKey(caller={self.caller!r})"


class SessionSource(Protocol):
    """Opens the access keys inside session tokens."""

    def open(self, session_token: bytes, access_key_id: str) -> AccessKey:
        """Returns the access key inside. Raises InvalidCredentials or ExpiredCredentials."""
        ...


class Keyring:
    """Static keys for calls without a session token, session credentials for calls with one.

    A denied access key is refused like an unknown one, even with a valid signature.
    """

    def __init__(
        self,
        static: Mapping[str, AccessKey],
        sessions: SessionSource | None,
        denied: Collection[str] = frozenset(),
    ) -> None:
        self._static = static
        self._sessions = sessions
        self._denied = denied

    def find(self, access_key_id: str, session_token: bytes | None) -> AccessKey:
        """Returns the access key. Raises InvalidCredentials, also for a static key with a session token."""
        if access_key_id in self._denied:
            raise _unknown(access_key_id)
        if session_token is not None:
            if self._sessions is None:
                raise InvalidCredentials(detail="this gateway accepts no session tokens")
            try:
                return self._sessions.open(session_token, access_key_id)
            except InvalidCredentials as refusal:
                if access_key_id in self._static:
                    shown = _shown(access_key_id)
                    refusal.detail = f"{shown}: a static access key; send it without x-amz-security-token"
                raise
        key = self._static.get(access_key_id)
        if key is None:
            raise _unknown(access_key_id)
        return key


def _unknown(access_key_id: str) -> InvalidCredentials:
    if access_key_id.startswith("ASIA"):
        return InvalidCredentials(
            detail=f"{_shown(access_key_id)}: temporary credentials; send their x-amz-security-token"
        )
    return InvalidCredentials(detail=f"{_shown(access_key_id)}: not an access key of this gateway")


def _shown(access_key_id: str) -> str:
    """Returns the id if it looks like one: callers sometimes send the secret in its place."""
    return access_key_id if _USUAL.fullmatch(access_key_id) else "Credential"


_USUAL = re.compile("[A-Z0-9]{1,32}")
_ASSUMED = re.compile(r"arn:([^:]*):sts::([^:]*):assumed-role/([^/:]+)/[^/:]+")
_CHARACTER = "[!-9;-~]"  # visible ASCII except the colon


class ApprovedRoles:
    """Patterns of ARNs. `*` and `?` match within one colon-separated part, as in IAM's ArnLike.

    A denied role is not approved, even if an approved pattern matches it.
    """

    def __init__(self, patterns: Iterable[str], denied: Iterable[str] = ()) -> None:
        self._approved, self._denied = _compile(patterns), _compile(denied)
        self.approves = lru_cache(10_000)(self._approves)

    def _approves(self, role: str) -> bool:
        return self._approved.fullmatch(role) is not None and self._denied.fullmatch(role) is None


def role_of(arn: str) -> str:
    """Returns the role of an assumed-role session's ARN, and any other ARN unchanged."""
    session = _ASSUMED.fullmatch(arn)
    if session is None:
        return arn
    partition, account, role = session.groups()
    return f"arn:{partition}:iam::{account}:role/{role}"


def _compile(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(_translate, patterns)) or r"(?!)")


def _translate(pattern: str) -> str:
    return re.escape(pattern).replace(r"\*", f"{_CHARACTER}*").replace(r"\?", _CHARACTER)
