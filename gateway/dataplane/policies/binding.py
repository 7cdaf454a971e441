"""Layer 2: the table token, and admission of its caller."""

from typing import Protocol

from gateway.dataplane.diagnostics import explain_token
from gateway.domain.call import Call, Headers
from gateway.domain.errors import (
    BindingInactive,
    CallerNotApproved,
    InvalidToken,
    MissingToken,
    UnsupportedAppType,
)
from gateway.domain.model import Binding, Caller, Grant
from gateway.domain.rules import SUPPORTED_APP_TYPES, unserved_type

TOKEN_HEADER = b"x-kvs-authorization"
_AUTHORIZATION = b"authorization"


class Bindings(Protocol):
    """Lookup of table tokens."""

    async def resolve(self, token: bytes, caller: str) -> Binding | None:
        """Returns the binding of a token, or None. `caller` is the role. Raises AuthUnavailable."""
        ...


class TableTokenPolicy:
    """Finds the binding of the bearer token in the first of `headers` that was sent."""

    def __init__(self, bindings: Bindings, headers: tuple[bytes, ...] = (TOKEN_HEADER,)) -> None:
        self._bindings = bindings
        self._headers = headers

    @classmethod
    def for_development(cls, bindings: Bindings) -> "TableTokenPolicy":
        """Accepts the token in `Authorization` as well, which is free if calls are not signed."""
        return cls(bindings, (TOKEN_HEADER, _AUTHORIZATION))

    async def bind(self, call: Call, caller: Caller) -> Binding:
        """Returns the binding of the call's token. Raises MissingToken, InvalidToken or AuthUnavailable."""
        token = self._token(call.headers)
        binding = await self._bindings.resolve(token, caller.role)
        if binding is None:
            raise InvalidToken(explain_token(token))
        return binding

    def _token(self, headers: Headers) -> bytes:
        for name in self._headers:
            token = headers.bearer_token(name, "X-KVS-Authorization", "the table token")
            if token == b"":
                raise InvalidToken("the token is empty: set the variable that holds it")
            if token is not None:
                return token
        raise MissingToken("X-KVS-Authorization: missing, send Bearer and the table token")


def admit(caller: Caller, binding: Binding) -> Grant:
    """Returns the grant of an admitted call.

    Raises BindingInactive, UnsupportedAppType or, for credentials of another app, CallerNotApproved.
    """
    if not binding.active:
        raise BindingInactive
    if binding.app_type not in SUPPORTED_APP_TYPES:
        raise UnsupportedAppType(unserved_type(binding.app_type))
    if caller.environment is not None and caller.environment != binding.environment:
        raise CallerNotApproved(
            f"credentials: issued for {caller.environment}, the table belongs to another app environment"
        )
    return binding.grant
