"""Parses the Authorization field and the instant of signing.

Only their format is checked here. A caller sends the same Credential and SignedHeaders in each request of a
day, so these statements are cached; signatures are not. Unauthenticated callers can send any statement, so
statements longer than any signer needs are parsed but not cached (D18).
"""

import re
from calendar import timegm
from datetime import UTC, datetime
from functools import lru_cache

from msgspec import Struct

from gateway.domain.call import Headers
from gateway.domain.errors import IncompleteSignature

ALGORITHM = b"AWS4-HMAC-SHA256"
AMZ = b"x-amz-"
"""Prefix of the header fields that must be signed."""

_BEARER = re.compile(rb"(?i)(^|[,\s])(bearer\b|kvs_)")
_SIGNATURE_DIGITS = 64
_HEXADECIMAL = b"0123456789abcdef"
_PRINTABLE = re.compile(rb"[!-~]+")
_CACHED_STATEMENTS = 1024
_CACHED_LISTS = 256
_CACHED_BYTES = 1024
"""Longest cached statement or list. Parsed, a statement of 8,000 bytes would take 200 KB."""


class Credential(Struct, frozen=True):
    """The signer's access key id, and the day, region and service of the signature."""

    access_key_id: str
    date: str
    region: str
    service: str
    terminator: str
    scope: bytes


class Statement(Struct, frozen=True):
    """The Authorization field without the signature. The list of signed headers is checked later."""

    credential: Credential
    signed_headers: bytes


class SignedHeaders(Struct, frozen=True):
    """A well-formed list of signed headers.

    `request` is a template of the canonical request: target, each value, the body's hash. `amz_count` is the
    number of occurrences of `x-amz-` in the names.
    """

    names: tuple[bytes, ...]
    request: bytes
    amz_count: int


def parse_authorization(field: bytes) -> tuple[Statement, bytes]:
    """Returns statement and signature. Raises IncompleteSignature naming the missing or malformed part."""
    before, found, rest = field.rpartition(b"Signature=")
    signature, comma, after = rest.partition(b",")
    if not found:
        _check_algorithm(field)
        raise IncompleteSignature("Authorization header requires 'Signature' parameter.")
    if comma and not after:
        raise IncompleteSignature("Authorization must be a list of distinct key=value pairs.")
    statement = (_known_statement if len(field) <= _CACHED_BYTES else _parse_statement)(before, after)
    signature = signature.rstrip()
    if len(signature) != _SIGNATURE_DIGITS or signature.translate(None, _HEXADECIMAL):
        raise IncompleteSignature("Signature must be 64 lower-case hexadecimal digits.")
    return statement, signature


def stated_access_key_id(headers: Headers) -> str | None:
    """Returns the access key id in a request, verified or not; None if there is none."""
    try:
        return parse_authorization(headers.get(b"authorization", b""))[0].credential.access_key_id
    except IncompleteSignature:
        return None


def _check_algorithm(field: bytes) -> None:
    if not field.startswith(ALGORITHM + b" "):
        raise IncompleteSignature(
            "Authorization must use the algorithm AWS4-HMAC-SHA256.", detail=explain_bearer(field)
        )


def explain_bearer(field: bytes) -> str | None:
    """Returns a hint for the caller if Authorization holds a table token."""
    if _BEARER.search(field) is None:
        return None
    return "the table token belongs in X-KVS-Authorization, the signature in Authorization"


def _parse_statement(before: bytes, after: bytes) -> Statement:
    """Parses the parameters before and after the signature, which may be anywhere among them."""
    _check_algorithm(before)
    before = before.rstrip()
    if not before.endswith((b",", ALGORITHM)):
        raise IncompleteSignature("Authorization header requires 'Signature' parameter.")
    text = before + after if after else before[:-1]
    parameters: dict[bytes, bytes] = {}
    for part in text.removeprefix(ALGORITHM).split(b","):
        name, equals, value = part.strip().partition(b"=")
        if not equals or name in parameters:
            raise IncompleteSignature("Authorization must be a list of distinct key=value pairs.")
        parameters[name] = value
    for name in (b"Credential", b"SignedHeaders"):
        if name not in parameters:
            raise IncompleteSignature(f"Authorization header requires '{name.decode()}' parameter.")
    if len(parameters) > 2:
        raise IncompleteSignature("Authorization has a parameter that is not known.")
    return Statement(_parse_credential(parameters[b"Credential"]), parameters[b"SignedHeaders"])


_known_statement = lru_cache(_CACHED_STATEMENTS)(_parse_statement)


def _parse_credential(text: bytes) -> Credential:
    parts = text.split(b"/")
    if len(parts) != 5 or not parts[0] or not _PRINTABLE.fullmatch(text):
        raise IncompleteSignature(
            "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term."
        )
    access_key_id, date, region, service, terminator = text.decode().split("/")
    return Credential(access_key_id, date, region, service, terminator, b"/".join(parts[1:]))


def parse_signed_headers(text: bytes) -> SignedHeaders:
    """Parses the list. Raises IncompleteSignature unless its names are lower-case, sorted and distinct."""
    return (_known_list if len(text) <= _CACHED_BYTES else _parse_list)(text)


def _parse_list(text: bytes) -> SignedHeaders:
    names = text.split(b";")
    if not all(names) or text != text.lower() or names != sorted(set(names)):
        raise IncompleteSignature(
            "SignedHeaders must be distinct lower-case names, sorted, separated by ';'."
        )
    if b"host" not in names:
        raise IncompleteSignature("'Host' must be a 'SignedHeader' in the AWS Authorization.")
    lines = b"".join(name.replace(b"%", b"%%") + b":%b\n" for name in names)
    return SignedHeaders(
        names=tuple(names),
        request=b"%b\n%b\n" + lines + b"\n" + text.replace(b"%", b"%%") + b"\n%b",
        amz_count=text.count(AMZ),
    )


_known_list = lru_cache(_CACHED_LISTS)(_parse_list)


_BASIC_FORM = re.compile(rb"([0-9]{4})([0-9]{2})([0-9]{2})T([0-9]{2})([0-9]{2})([0-9]{2})Z")


def signing_date(headers: Headers) -> bytes:
    """Returns X-Amz-Date, else Date. Raises IncompleteSignature if neither was sent."""
    date = headers.get(b"x-amz-date")
    if date is None:
        date = headers.get(b"date")
    if date is None:
        raise IncompleteSignature(
            "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header."
        )
    return date


@lru_cache(1024)
def unix_seconds(date: bytes) -> int:
    """Returns seconds since 1970. Raises IncompleteSignature unless `date` is a real date in basic format."""
    digits = _BASIC_FORM.fullmatch(date)
    if digits is None:
        raise IncompleteSignature("Date must be in ISO-8601 'basic format', YYYYMMDDTHHMMSSZ.")
    try:
        moment = datetime(*map(int, digits.groups()), tzinfo=UTC)  # type: ignore[misc,arg-type]
    except ValueError:
        raise IncompleteSignature("Date names a moment that does not exist.") from None
    return timegm(moment.utctimetuple())


def basic_form(seconds: int) -> str:
    """Formats seconds since 1970 as clients sign them."""
    # strftime writes years before 1000 with fewer than four digits
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y%m%dT%H%M%SZ").zfill(16)
