"""The canonical request: the bytes that client and server must spell alike.

Source: AWS, "Create a signed AWS API request", step 1. For services other than
S3 the path is normalized and each segment encoded twice in all; a server sees
the first encoding on the wire and adds the second.
"""

from functools import lru_cache
from urllib.parse import quote_from_bytes, unquote_to_bytes

from gateway.sigv4.authorization import SignedHeaders

_TAB = ord("\t")
_UNRESERVED = "-_.~"
_CACHED_TARGETS = 256
_CACHED_BYTES = 128
"""Of a target that is kept: the routes are short, and strangers send others."""


def canonical_uri(path: bytes) -> bytes:
    """The wire path without dot segments and empty segments, percent-encoded once more."""
    segments: list[bytes] = []
    for segment in path.split(b"/"):
        if segment == b"..":
            del segments[-1:]
        elif segment not in (b"", b"."):
            segments.append(segment)
    # RFC 3986 would keep a slash for a last dot segment, too; botocore, smithy and aws4 do not
    ends_in_slash = bool(segments) and path.endswith(b"/")
    normal = b"/" + b"/".join(segments) + (b"/" if ends_in_slash else b"")
    return quote_from_bytes(normal, safe="/" + _UNRESERVED).encode()


def canonical_query(query: bytes) -> bytes:
    """Names and values decoded, encoded by one rule (`+` is a plus) and sorted after encoding."""
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
    """The six parts, one below the other; `values` are those of the signed headers, in their order."""
    request = signed.request % (method, _canonical_target(target), *values, payload_hash)
    if _TAB in request or b"" in request.split(b" "):  # two spaces: searching for them takes twice as long
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
    """Runs of white space inside a value count as one space."""
    return b" ".join(value.split())


def _encode(text: bytes) -> str:
    return quote_from_bytes(unquote_to_bytes(text), safe=_UNRESERVED)
