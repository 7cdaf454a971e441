"""From an access key id to the secret and the caller it stands for."""

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from gateway.errors import InvalidCredentials
from gateway.model import Caller


class Credentials(Struct, frozen=True):
    """A secret, and who has proved to be whom by using it."""

    secret: bytes
    caller: Caller

    def __repr__(self) -> str:
        return f"Credentials(caller={self.caller!r})"


class SessionSource(Protocol):
    """Credentials that a session token carries."""

    def open(self, session_token: bytes, access_key_id: str) -> Credentials:
        """The credentials inside. Raises InvalidCredentials or ExpiredCredentials."""
        ...


class Keyring:
    """Static credentials for calls without a session token, session credentials for calls with one."""

    def __init__(self, static: Mapping[str, Credentials], sessions: SessionSource | None) -> None:
        self._static = static
        self._sessions = sessions

    def find(self, access_key_id: str, session_token: bytes | None) -> Credentials:
        """Raises InvalidCredentials for anything unknown, a static key with a session token included."""
        if session_token is not None:
            if self._sessions is None:
                raise InvalidCredentials
            return self._sessions.open(session_token, access_key_id)
        credentials = self._static.get(access_key_id)
        if credentials is None:
            raise InvalidCredentials
        return credentials
