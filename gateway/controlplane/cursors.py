"""Encrypted page cursors: a caller may follow one without learning the app that it names (D172).

Cursors are padded to one length and bound to the path of their list.
"""

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
"""Longest `app/env`: padding hides the length of a name."""


def cursor_key(secrets: Sequence[str]) -> bytes:
    """Derives the key from secrets, so that replicas with the same secrets can decrypt each other's cursors.

    Without secrets anybody who reads the configuration could derive it. The key is then random, and its
    cursors are valid for this process only.
    """
    if not secrets:
        return token_bytes(_KEY_BYTES)
    return sha256(b"places of lists" + msgspec.json.encode(secrets, enc_hook=str)).digest()


class CursorCipher:
    """Encrypts and decrypts cursors with AES-GCM and a key of 32 bytes."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    @cached_property
    def _cipher(self) -> "AESGCM":
        """AES-GCM, loaded on first use: most replicas never need it (D173)."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

        return AESGCM(self._key)

    def encrypt(self, path: str, cursor: str) -> str:
        """Returns the cursor as the `after` parameter of a link."""
        nonce = token_bytes(_NONCE_BYTES)
        encrypted = self._cipher.encrypt(nonce, cursor.encode().ljust(_PADDED_BYTES), path.encode())
        return _MARK + urlsafe_b64encode(nonce + encrypted).decode().rstrip("=")

    def decrypt(self, path: str, after: str) -> str:
        """Returns the cursor in `after`, unchanged if it is not encrypted. Raises InvalidField."""
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
            raise InvalidField(
                "invalid_after", "after: not a cursor of this list; take it from the link to the next page"
            ) from None
