"""The arithmetic of Signature V4: canonical request, signing keys, comparison.

Source: AWS, "Create a signed AWS API request". Client and server must produce the same bytes. For services
other than S3 the path is normalized and each segment is encoded twice: the first encoding is on the wire, the
server adds the second.
"""

import hmac
from functools import lru_cache
from urllib.parse import quote_from_bytes, unquote_to_bytes

from msgspec import Struct

from gateway.domain.errors import SignatureMismatch
from gateway.sigv4.authorization import SignedHeaders

_TAB = ord("\t")
_UNRESERVED = "-_.~"
_CACHED_TARGETS = 256
_CACHED_BYTES = 128
"""Longest cached target: the routes are short, and unauthenticated callers can send any other target."""


def canonical_uri(path: bytes) -> bytes:
    """Returns the wire path without dot segments and empty segments, percent-encoded once more."""
    segments: list[bytes] = []
    for segment in path.split(b"/"):
        if segment == b"..":
            del segments[-1:]
        elif segment not in (b"", b"."):
            segments.append(segment)
    # RFC 3986 would also keep a slash for a last dot segment; botocore, smithy and aws4 do not
    ends_in_slash = bool(segments) and path.endswith(b"/")
    normal = b"/" + b"/".join(segments) + (b"/" if ends_in_slash else b"")
    return quote_from_bytes(normal, safe="/" + _UNRESERVED).encode()


def canonical_query(query: bytes) -> bytes:
    """Decodes names and values, encodes them by one rule (`+` is a plus) and sorts the result."""
    if not query:
        return b""
    pairs = []
    for parameter in query.split(b"&"):
        if parameter:
            name, _, value = parameter.partition(b"=")
            pairs.append((_encode(name), _encode(value)))
    return "&".join(f"{name}={value}" for name, value in sorted(pairs)).encode()


def canonical_request(
    method: bytes, target: bytes, signed: SignedHeaders, values: tuple[bytes, ...], payload_hash: bytes
) -> bytes:
    """Returns the canonical request; `values` are those of the signed headers, in the same order."""
    request = signed.request % (method, _canonical_target(target), *values, payload_hash)
    if _TAB in request or b"" in request.split(b" "):  # finds two spaces in half the time of `in`
        values = tuple(map(_fold, values))
        request = signed.request % (method, _canonical_target(target), *values, payload_hash)
    return request


def _canonical_target(target: bytes) -> bytes:
    return (_known_target if len(target) <= _CACHED_BYTES else _spell_target)(target)


def _spell_target(target: bytes) -> bytes:
    path, _, query = target.partition(b"?")
    return canonical_uri(path) + b"\n" + canonical_query(query)


_known_target = lru_cache(_CACHED_TARGETS)(_spell_target)


def _fold(value: bytes) -> bytes:
    """Reduces each run of white space inside a value to one space."""
    return b" ".join(value.split())


def _encode(text: bytes) -> str:
    return quote_from_bytes(unquote_to_bytes(text), safe=_UNRESERVED)


class Claim(Struct, frozen=True):
    """The signer that a request names, and the bytes that its signature must match."""

    access_key_id: str
    session_token: bytes | None
    scope: bytes
    string_to_sign: bytes
    signature: bytes
    declared_hash_holds: bool

    def __repr__(self) -> str:
        return f"Claim(access_key_id={self.access_key_id!r})"


class SigningKeys:
    """Signing keys, derived once per secret and scope (day, region, service); `size` of them are cached.

    The secret is part of the cache key, so a replaced secret takes effect immediately (D18).
    """

    def __init__(self, size: int = 10_000) -> None:
        self._keyed = lru_cache(size)(_keyed)

    def prove(self, claim: Claim, secret: bytes) -> None:
        """Raises SignatureMismatch unless the claim was signed with `secret`. Compares in constant time."""
        if not claim.declared_hash_holds:
            raise SignatureMismatch
        keyed = self._keyed(secret, claim.scope).copy()
        keyed.update(claim.string_to_sign)
        if not hmac.compare_digest(keyed.hexdigest().encode(), claim.signature):
            raise SignatureMismatch


def _keyed(secret: bytes, scope: bytes) -> hmac.HMAC:
    key = b"AWS4" + secret
    for part in scope.split(b"/"):
        key = hmac.digest(key, part, "sha256")
    keyed = hmac.new(key, digestmod="sha256")
    return getattr(keyed, "_hmac", None) or keyed  # OpenSSL's own object saves calls
