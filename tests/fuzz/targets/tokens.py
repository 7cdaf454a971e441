"""JSON Web Tokens: any header over any claims, signed by the issuer itself, so that all are read."""

import json
from base64 import urlsafe_b64encode
from contextlib import suppress
from typing import Any

from gateway.identity.issuer_keys import IssuerKeys, KeysUnavailable
from gateway.identity.web_tokens import Claims, TrustedIssuer, WebTokens
from tests.fuzz.targets.coroutines import result_of
from tests.identity.issuer import ALL, AUDIENCE, ISSUER, PRIVATE
from tests.support.clock import FakeClock

CLOCK = FakeClock()
_LAST_SECOND = 253_402_300_799  # of the year 9999


async def _keys(_: str) -> bytes:
    return ALL


TOKENS: WebTokens[Claims] = WebTokens(
    {ISSUER: TrustedIssuer(ISSUER, AUDIENCE, IssuerKeys(ISSUER, "keys", _keys, CLOCK))},
    lambda claims: claims,
    CLOCK,
)


def web_token(data: bytes) -> None:
    """Header and claims as lines: accepted claims are those that the standard library reads."""
    assert _verified(data) is None
    header, _, payload = data.partition(b"\n")
    unsigned = b".".join(urlsafe_b64encode(part).rstrip(b"=") for part in (header, payload))
    proof = PRIVATE["EdDSA"].sign(unsigned)
    token = unsigned + b"." + urlsafe_b64encode(proof).rstrip(b"=")
    believed = _verified(token)
    assert believed is _verified(token)
    if believed is None:
        return
    stated, said = json.loads(header), json.loads(payload)
    assert stated["alg"] == "EdDSA"
    assert stated.get("kid") in (None, "EdDSA")
    assert "crit" not in stated
    assert (believed.issuer, believed.subject) == (said["iss"], said["sub"]) == (ISSUER, said["sub"])
    assert isinstance(said["sub"], str)
    assert 0 < len(said["sub"]) <= 255
    assert said["aud"] == AUDIENCE or AUDIENCE in list(said["aud"])
    assert _is_number(said["exp"])
    assert _is_number(said.get("nbf", 0))
    now_seconds = CLOCK.wall_ms() / 1000
    assert said.get("nbf", 0) - 60 <= now_seconds < said["exp"] <= _LAST_SECOND


def _verified(token: bytes) -> Claims | None:
    """Returns the claims of a token that is accepted. A token under an unknown key is not."""
    with suppress(KeysUnavailable):
        return result_of(TOKENS.verify(token))
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
