"""Table tokens: `kvs_`, 256 random bits, a checksum; 49 letters and digits after the prefix.

The checksum is the CRC-32 of everything before it. With it, mistyped tokens are refused without a read of the
store, and secret scanners match without false alarms. Only the SHA-256 of a token is stored.
"""

import re
from hashlib import sha256
from secrets import randbits
from string import ascii_letters, digits
from zlib import crc32

PREFIX = b"kvs_"

_ALPHABET = digits + ascii_letters
_RANDOM_CHARACTERS = 43
_CHECKSUM_CHARACTERS = 6
_SHAPE = re.compile(rb"kvs_[0-9A-Za-z]{43}([0-9A-Za-z]{6})")


def new_token() -> str:
    """Returns a new, random token."""
    body = PREFIX + _base62(randbits(256), _RANDOM_CHARACTERS)
    return (body + _checksum(body)).decode()


def is_well_formed(token: bytes) -> bool:
    """Returns whether prefix, alphabet, length and checksum are correct."""
    shape = _SHAPE.fullmatch(token)
    return shape is not None and _checksum(token[:-_CHECKSUM_CHARACTERS]) == shape[1]


def sha256_of(token: str) -> str:
    """Returns the SHA-256 by which a record holds a token, in hexadecimal."""
    return sha256(token.encode()).hexdigest()


def _checksum(body: bytes) -> bytes:
    return _base62(crc32(body), _CHECKSUM_CHARACTERS)


def _base62(number: int, width: int) -> bytes:
    text = ""
    for _ in range(width):
        number, remainder = divmod(number, 62)
        text = _ALPHABET[remainder] + text
    return text.encode()
