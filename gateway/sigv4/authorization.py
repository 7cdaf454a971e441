"""The Authorization field of Signature V4, taken apart and judged by its shape alone."""

import re
from functools import lru_cache

from msgspec import Struct

from gateway.errors import IncompleteSignature

ALGORITHM = b"AWS4-HMAC-SHA256"

_SIGNATURE = re.compile(rb"[0-9a-f]{64}")
_PRINTABLE = re.compile(rb"[!-~]+")
_CACHED_PARTS = 1024


class Credential(Struct, frozen=True):
    """Who signs, and for which day, region and service."""

    access_key_id: str
    date: str
    region: str
    service: str
    terminator: str
    scope: bytes


class Authorization(Struct, frozen=True):
    """An Authorization field whose three parts are there; the list of signed headers is judged later."""

    credential: Credential
    signed_headers: bytes
    signature: bytes


def parse_authorization(field: bytes) -> Authorization:
    """Take the field apart. Raises IncompleteSignature naming the part that is missing or malformed."""
    algorithm, _, rest = field.partition(b" ")
    if algorithm != ALGORITHM:
        raise IncompleteSignature("Authorization must use the algorithm AWS4-HMAC-SHA256.")
    parameters: dict[bytes, bytes] = {}
    for part in rest.split(b","):
        name, equals, value = part.strip().partition(b"=")
        if not equals or name in parameters:
            raise IncompleteSignature("Authorization must be a list of distinct key=value pairs.")
        parameters[name] = value
    try:
        credential = parameters.pop(b"Credential")
        signed_headers = parameters.pop(b"SignedHeaders")
        signature = parameters.pop(b"Signature")
    except KeyError as missing:
        name = missing.args[0].decode()
        raise IncompleteSignature(f"Authorization header requires '{name}' parameter.") from None
    if parameters:
        raise IncompleteSignature("Authorization has a parameter that is not known.")
    if not _SIGNATURE.fullmatch(signature):
        raise IncompleteSignature("Signature must be 64 lower-case hexadecimal digits.")
    return Authorization(_parse_credential(credential), signed_headers, signature)


@lru_cache(_CACHED_PARTS)
def _parse_credential(text: bytes) -> Credential:
    parts = text.split(b"/")
    if len(parts) != 5 or not parts[0] or not _PRINTABLE.fullmatch(text):
        raise IncompleteSignature(
            "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term."
        )
    access_key_id, date, region, service, terminator = text.decode().split("/")
    return Credential(access_key_id, date, region, service, terminator, b"/".join(parts[1:]))


@lru_cache(_CACHED_PARTS)
def parse_signed_headers(text: bytes) -> tuple[bytes, ...]:
    """The names in the list. Raises IncompleteSignature unless they are lower-case, sorted and distinct."""
    names = text.split(b";")
    if not all(names) or text != text.lower() or names != sorted(set(names)):
        raise IncompleteSignature(
            "SignedHeaders must be distinct lower-case names, sorted, separated by ';'."
        )
    if b"host" not in names:
        raise IncompleteSignature("'Host' must be a 'SignedHeader' in the AWS Authorization.")
    return tuple(names)
