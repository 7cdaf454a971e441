"""Layer 1: authenticates the caller, by the rules of `gateway.sigv4` or a trusted proxy."""

from typing import Protocol

import msgspec

from backends.clock import Clock
from gateway.credentials.keyring import ApprovedRoles, Keyring
from gateway.credentials.trusted_proxy import NOWHERE, Networks, TrustedProxy
from gateway.dataplane.diagnostics import explain_mismatch
from gateway.domain.call import Call
from gateway.domain.errors import CallerNotApproved, InvalidHost, SignatureMismatch
from gateway.domain.hosts import AcceptedHosts
from gateway.domain.model import Caller
from gateway.sigv4 import SignatureRules, SigningKeys, examine


class CallerPolicy(Protocol):
    """Authentication of calls."""

    def verify(self, call: Call) -> Caller:
        """Returns the approved caller. Raises a SignatureRefusal."""
        ...


class SignaturePolicy:
    """Requires an approved role, proven by a signature or by a trusted proxy."""

    def __init__(
        self,
        *,
        rules: SignatureRules,
        keyring: Keyring,
        roles: ApprovedRoles,
        proxy: TrustedProxy | None,
        clock: Clock,
        denied_peers: Networks = NOWHERE,
    ) -> None:
        self._rules = rules
        self._keyring = keyring
        self._roles = roles
        self._proxy = proxy
        self._is_denied = denied_peers.contain if denied_peers else None
        self._clock = clock
        self._keys = SigningKeys()

    def verify(self, call: Call) -> Caller:
        if self._is_denied is not None and self._is_denied(call.peer):
            raise CallerNotApproved("calls from this address are not accepted")
        caller = self._signed(call) if self._proxy is None else self._vouched(self._proxy, call)
        if not self._roles.approves(caller.role):
            raise CallerNotApproved(f"not an approved role: {caller.role}", caller)
        return caller

    def _vouched(self, proxy: TrustedProxy, call: Call) -> Caller:
        caller = proxy.vouched_caller(call.headers, call.peer)
        if caller is not None:
            return caller
        return self._signed(msgspec.structs.replace(call, headers=proxy.strip(call.headers)))

    def _signed(self, call: Call) -> Caller:
        now_seconds = self._clock.wall_ms() // 1000
        claim = examine(
            b"POST", call.target, call.headers, call.body, rules=self._rules, now_seconds=now_seconds
        )
        credentials = self._keyring.find(claim.access_key_id, claim.session_token)
        try:
            self._keys.prove(claim, credentials.secret)
        except SignatureMismatch:
            raise SignatureMismatch(detail=explain_mismatch(call, claim)) from None
        return credentials.caller


class AtHosts:
    """Restricts another policy to requests for the names in `hosts`."""

    def __init__(self, policy: CallerPolicy, hosts: AcceptedHosts) -> None:
        self._policy = policy
        self._hosts = hosts

    def verify(self, call: Call) -> Caller:
        caller = self._policy.verify(call)
        if not self._hosts.accept(call.headers):
            raise InvalidHost(
                "The Host is not a name of this service.", detail=self._hosts.explain(call.headers)
            )
        return caller


class Unsigned:
    """Accepts every call: `signature.mode: off`, for development on a loopback address."""

    def verify(self, call: Call) -> Caller:  # noqa: ARG002 - the call needs no proof
        return Caller("anyone")
