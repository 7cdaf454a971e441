"""Places in lists that a link may name, and who follows it must not read (D172)."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from functools import cached_property
from hashlib import sha256
from secrets import token_bytes
from typing import TYPE_CHECKING

import msgspec

from gateway.controlplane.errors import InvalidField

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_MARK = "~"
_KEY_BYTES = 32
_NONCE_BYTES = 12
_PADDED_BYTES = 130
"""An app and an environment at their longest, so that the length tells nothing."""


def cursor_key(secrets: Sequence[str]) -> bytes:
    """Derives the key from secrets, so that replicas with the same secrets open the cursors of each other.

    Without a secret every reader of the file could derive it: then it is random, and good for one process.
    """
    if not secrets:
        return token_bytes(_KEY_BYTES)
    return sha256(b"places of lists" + msgspec.json.encode(secrets, enc_hook=str)).digest()


class CursorCipher:
    """Seals places with a key of 32 bytes, each for the one list that it belongs to."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    @cached_property
    def _cipher(self) -> "AESGCM":
        """Loaded for the first place that is sealed or opened: most replicas never do either (D224)."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

        return AESGCM(self._key)

    def seal(self, path: str, place: str) -> str:
        """The place as `after` of a link."""
        nonce = token_bytes(_NONCE_BYTES)
        sealed = self._cipher.encrypt(nonce, place.encode().ljust(_PADDED_BYTES), path.encode())
        return _MARK + urlsafe_b64encode(nonce + sealed).decode().rstrip("=")

    def open(self, path: str, after: str) -> str:
        """The place that `after` stands for, itself if it is not sealed. Raises InvalidField."""
        if not after.startswith(_MARK):
            return after
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - as above

        try:
            sent = urlsafe_b64decode(after[1:] + "===")
            return (
                self._cipher.decrypt(sent[:_NONCE_BYTES], sent[_NONCE_BYTES:], path.encode())
                .decode()
                .rstrip()
            )
        except (ValueError, InvalidTag):
            raise InvalidField("invalid_after", "after: not a place that this list has told") from None
