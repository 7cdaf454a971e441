"""Bearer tokens in header fields, of the data plane and of the control plane."""

from gateway.domain.errors import InvalidToken
from gateway.domain.headers import Headers


def bearer_token(headers: Headers, name: bytes, title: str, token_name: str) -> bytes | None:
    """Returns the token in a field `Bearer <token>`, or None if the field is absent. Raises InvalidToken.

    Refusals call the field `title` and the token `token_name`. The token may be empty.
    """
    field = headers.get(name)
    if not field:
        return None
    if name in headers.repeated:
        raise InvalidToken(f"{title}: sent more than once")
    scheme, _, token = field.partition(b" ")
    if scheme.lower() != b"bearer":
        raise InvalidToken(f"{title}: must be Bearer, a space and {token_name}")
    return token.strip()
