"""Layer 2: which table."""

from typing import Protocol

from gateway.dataplane.diagnostics import explain_token
from gateway.domain.errors import (
    BindingInactive,
    CallerNotApproved,
    InvalidToken,
    MissingToken,
    UnsupportedAppType,
)
from gateway.domain.headers import Headers
from gateway.domain.model import Binding, Call, Caller, Grant
from gateway.domain.rules import SUPPORTED_APP_TYPES, unserved_type

TOKEN_HEADER = b"x-kvs-authorization"
_AUTHORIZATION = b"authorization"


class Bindings(Protocol):
    """What tokens stand for."""

    async def resolve(self, token: bytes, caller: str) -> Binding | None:
        """The binding of a token that a role sent, or None if there is none. Raises AuthUnavailable."""
        ...


class TableTokenPolicy:
    """The binding of the bearer token in one of `headers`: the first that was sent counts."""

    def __init__(self, bindings: Bindings, headers: tuple[bytes, ...] = (TOKEN_HEADER,)) -> None:
        self._bindings = bindings
        self._headers = headers

    @classmethod
    def for_development(cls, bindings: Bindings) -> "TableTokenPolicy":
        """Without layer 1, `Authorization` is free to carry the token, too."""
        return cls(bindings, (TOKEN_HEADER, _AUTHORIZATION))

    async def bind(self, call: Call, caller: Caller) -> Binding:
        """Raises MissingToken, InvalidToken or AuthUnavailable."""
        token = self._token(call.headers)
        binding = await self._bindings.resolve(token, caller.role)
        if binding is None:
            raise InvalidToken(explain_token(token))
        return binding

    def _token(self, headers: Headers) -> bytes:
        for name in self._headers:
            field = headers.get(name)
            if field:
                scheme, _, token = field.partition(b" ")
                token = token.strip()
                if name in headers.repeated:
                    raise InvalidToken("X-KVS-Authorization: sent more than once")
                if scheme.lower() != b"bearer":
                    raise InvalidToken("X-KVS-Authorization: it begins with Bearer and a blank")
                if not token:
                    raise InvalidToken("the token is empty: is the variable set that holds it?")
                return token
        raise MissingToken("X-KVS-Authorization: missing, it carries Bearer and the token of the table")


def admit(caller: Caller, binding: Binding) -> Grant:
    """Raises BindingInactive, UnsupportedAppType or, for credentials of another app, CallerNotApproved."""
    if not binding.active:
        raise BindingInactive
    if binding.app_type not in SUPPORTED_APP_TYPES:
        raise UnsupportedAppType(unserved_type(binding.app_type))
    if caller.environment is not None and caller.environment != binding.environment:
        raise CallerNotApproved(f"credentials: for {caller.environment}, the table is of another environment")
    return Grant(binding.keyspace, binding.budgets, binding.labels)
