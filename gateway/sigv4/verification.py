"""The rules of Signature V4, checked in a fixed order.

`examine` checks everything that needs no secret: format, region, service, scope, time, signed headers, host.
Then the policy looks up the secret, and `SigningKeys.prove` checks the signature. DESIGN.md has the refusals.
"""

import re
from hashlib import sha256
from urllib.parse import unquote_to_bytes

from msgspec import Struct

from gateway.domain.call import Headers
from gateway.domain.errors import (
    IncompleteSignature,
    InvalidHost,
    InvalidRegion,
    InvalidScope,
    InvalidService,
    MissingSignature,
    SignatureExpired,
)
from gateway.sigv4.authorization import (
    ALGORITHM,
    AMZ,
    Credential,
    SignedHeaders,
    Statement,
    basic_form,
    explain_bearer,
    parse_authorization,
    parse_signed_headers,
    signing_date,
    unix_seconds,
)
from gateway.sigv4.signing import Claim, canonical_request

_QUERY = ord("?")
_TERMINATOR = "aws4_request"
_CONTENT_HASH = b"x-amz-content-sha256"
_ECHOED_CHARACTERS = 128
_NAME = re.compile("[a-z0-9-]{1,32}")
_HOST = re.compile(r"[A-Za-z0-9._:@\[\]-]+")


class SignatureRules(Struct, frozen=True):
    """The values that this gateway accepts. An empty `public_hosts` accepts any signed Host."""

    region: str
    service: str = "execute-api"
    skew_seconds: int = 300
    public_hosts: frozenset[str] = frozenset()


def examine(
    method: bytes, target: bytes, headers: Headers, body: bytes, *, rules: SignatureRules, now_seconds: int
) -> Claim:
    """Checks everything except the signature itself. Raises the first SignatureRefusal that applies."""
    statement, signature = _read_authorization(target, headers)
    date = signing_date(headers)
    signed_at_seconds = unix_seconds(date)
    credential = statement.credential
    _check_scope(credential, rules, date)
    if abs(signed_at_seconds - now_seconds) > rules.skew_seconds:
        raise _out_of_time(signed_at_seconds, now_seconds, rules.skew_seconds)
    signed_headers = parse_signed_headers(statement.signed_headers)
    values = _signed_values(signed_headers, headers)
    if rules.public_hosts:
        _check_host(headers, rules.public_hosts)
    body_hash = sha256(body).hexdigest().encode()
    request = canonical_request(method, target, signed_headers, values, body_hash)
    request_hash = sha256(request).hexdigest().encode()
    return Claim(
        access_key_id=credential.access_key_id,
        session_token=headers.get(b"x-amz-security-token"),
        scope=credential.scope,
        string_to_sign=b"\n".join((ALGORITHM, date, credential.scope, request_hash)),
        signature=signature,
        declared_hash_holds=headers.get(_CONTENT_HASH) in (None, body_hash),
    )


def _read_authorization(target: bytes, headers: Headers) -> tuple[Statement, bytes]:
    field = headers.get(b"authorization")
    if field is None:
        raise MissingSignature(detail=_explain_missing(target, headers))
    if b"authorization" in headers.repeated:
        raise IncompleteSignature("Authorization must be sent once.", detail=explain_bearer(field))
    if _QUERY in target and any(name.startswith(AMZ) for name in _parameter_names(target)):
        raise IncompleteSignature("Query-string authentication is not supported.")
    return parse_authorization(field)


def _explain_missing(target: bytes, headers: Headers) -> str | None:
    if b"x-amz-signature" in _parameter_names(target):
        return "presigned URLs are not supported: the signature belongs in Authorization"
    if b"x-kvs-authorization" in headers:
        return "the table token alone is not enough: sign the request with AWS Signature V4 for execute-api"
    return None


def _parameter_names(target: bytes) -> list[bytes]:
    query = target.partition(b"?")[2]
    return [unquote_to_bytes(parameter.partition(b"=")[0]).lower() for parameter in query.split(b"&")]


def _check_scope(credential: Credential, rules: SignatureRules, date: bytes) -> None:
    if credential.region != rules.region:
        region = credential.region[:_ECHOED_CHARACTERS]
        raise InvalidRegion(
            f"Credential should be scoped to a valid region, not '{region}'.",
            detail=f"region: {_plain(credential.region)}, allowed: {rules.region}",
        )
    if credential.service != rules.service:
        raise InvalidService(
            f"Credential should be scoped to correct service: '{rules.service}'.",
            detail=f"service: {_plain(credential.service)}, allowed: {rules.service}",
        )
    if credential.terminator != _TERMINATOR:
        raise InvalidScope(f"Credential should be scoped with a valid terminator: '{_TERMINATOR}'.")
    if credential.date != date[:8].decode():
        raise InvalidScope(
            "Date in Credential scope does not match YYYYMMDD from the request's date.",
            detail=f"scope date: {_plain(credential.date)}, allowed: {date[:8].decode()}, the day of signing",
        )


def _out_of_time(signed_at_seconds: int, now_seconds: int, skew_seconds: int) -> SignatureExpired:
    signed_at, now = basic_form(signed_at_seconds), basic_form(now_seconds)
    off_seconds = abs(signed_at_seconds - now_seconds)
    if signed_at_seconds < now_seconds:
        bound = basic_form(now_seconds - skew_seconds)
        return SignatureExpired(
            f"Signature expired: {signed_at} is now earlier than {bound} ({now} - {skew_seconds} s.)",
            detail=f"signed {off_seconds} s ago, at most {skew_seconds}: "
            "sign each call again, and check this machine's clock",
        )
    bound = basic_form(now_seconds + skew_seconds)
    return SignatureExpired(
        f"Signature not yet current: {signed_at} is still later than {bound} ({now} + {skew_seconds} s.)",
        detail=f"signed {off_seconds} s in the future, at most {skew_seconds}: check this machine's clock",
    )


def _signed_values(signed: SignedHeaders, headers: Headers) -> tuple[bytes, ...]:
    """Returns the values of the signed headers, which must all be present and include all `x-amz-` fields."""
    try:
        values = tuple(map(headers.__getitem__, signed.names))
    except KeyError as unsent:
        raise _signed_without_value(unsent.args[0], headers) from None
    if b"\n".join(headers).count(AMZ) > signed.amz_count:  # some name with this prefix is not signed
        _check_unsigned(headers, headers.keys() - signed.names)
    content_hash = headers.get(_CONTENT_HASH)
    if content_hash is not None and content_hash.startswith((b"UNSIGNED-PAYLOAD", b"STREAMING-")):
        raise IncompleteSignature("X-Amz-Content-Sha256 must be the hash of the body.")
    return values


def _signed_without_value(name: bytes, headers: Headers) -> IncompleteSignature:
    reason = "was not sent" if name not in headers.dropped else "is not accepted from this address"
    return IncompleteSignature(f"'{_echo(name)}' is listed in SignedHeaders but {reason}.")


def _check_unsigned(headers: Headers, unsigned: set[bytes]) -> None:
    for name in headers:
        if name in unsigned and name.startswith(AMZ) and name != _CONTENT_HASH:
            raise IncompleteSignature(f"'{_echo(name)}' must be a 'SignedHeader' in the AWS Authorization.")


def _check_host(headers: Headers, public_hosts: frozenset[str]) -> None:
    host = headers[b"host"].decode("latin-1")
    if strip_default_port(host.lower()) not in public_hosts:
        shown = _plain(host[:_ECHOED_CHARACTERS], _HOST)
        raise InvalidHost(
            f"Host '{shown}' is not a name of this service.",
            detail=f"Host: {shown}, allowed: {', '.join(sorted(public_hosts))}",
        )


def strip_default_port(host: str) -> str:
    """Removes the default port, which some clients send and others do not."""
    return host.removesuffix(":443").removesuffix(":80")


def _plain(name: str, pattern: re.Pattern[str] = _NAME) -> str:
    """Returns the name if it is well-formed; any other text is not repeated, because it may be a secret."""
    if not name:
        return "empty"
    return name if pattern.fullmatch(name) else "malformed"


def _echo(text: bytes) -> str:
    return text[:_ECHOED_CHARACTERS].decode("latin-1")
