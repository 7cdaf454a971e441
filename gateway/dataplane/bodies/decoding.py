"""JSON objects, whose fields stay as they were sent (D3).

A good body is decoded in one pass. Only a body that fails is decoded again: it has unknown fields or a lone
surrogate, or its fault has to be explained (D168).
"""

import re
from collections.abc import Collection, Mapping
from secrets import token_hex
from typing import TypeVar

import msgspec
from msgspec import Raw, Struct

from gateway.dataplane.bodies.fields import ABSENT
from gateway.dataplane.diagnostics import explain_fields, explain_json
from gateway.domain.errors import InvalidJson
from gateway.domain.model import ResponseNotes

_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u([dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)
"""Escapes in JSON: a surrogate pair, a lone surrogate (the group holds its digits), or any other escape."""

_any_fields_decoder = msgspec.json.Decoder(dict[str, Raw])

Fields = TypeVar("Fields", bound=Struct)


def decode(body: bytes, decoder: msgspec.json.Decoder[Fields], notes: ResponseNotes) -> Fields:
    """Decodes a body whose fields are all `Raw`. Raises InvalidJson.

    Fields that the decoder's type does not have are ignored and named in `notes`.
    """
    fields = decode_once(body, decoder)
    if fields is not None:
        return fields
    spelled = Spelled(body)
    return spelled.struct(spelled.fields(), decoder.type, notes)


def decode_once(body: bytes, decoder: msgspec.json.Decoder[Fields]) -> Fields | None:
    """Decodes a body in one pass. Returns None for a body that has to be decoded again."""
    try:
        if not body.isascii():
            body.decode()  # msgspec does not validate the UTF-8 of strings that it skips
        return decoder.decode(body)
    except RecursionError:
        raise InvalidJson(explain_json(body)) from None
    except ValueError:
        return None


class Spelled:
    r"""A body whose lone surrogates, such as `\ud800`, are spelled in letters.

    The decoder refuses lone surrogates. Each is spelled in letters before decoding, and restored after it.
    """

    def __init__(self, body: bytes) -> None:
        self._letters = letters = _letters_absent_from(body)
        try:
            body.decode()
            self.text = _ESCAPE.sub(lambda escape: letters + escape[1] if escape[1] else escape[0], body)
        except ValueError:
            raise InvalidJson(explain_json(body)) from None

    def fields(self) -> Mapping[str, Raw]:
        """Decodes the body. Raises InvalidJson."""
        try:
            return _any_fields_decoder.decode(self.text)
        except (ValueError, RecursionError):
            shown = re.sub(self._letters + b"....", b"______", self.text)
            raise InvalidJson(explain_json(shown)) from None

    def struct(
        self, fields: Mapping[str, Raw], wanted: type[Fields], notes: ResponseNotes, place: str = ""
    ) -> Fields:
        """Returns the known fields as they were sent. Warnings about others begin with `place`."""
        known = wanted.__struct_encode_fields__
        self.name_unknown(fields, known, notes, place)
        return wanted(*(self._as_sent(fields[name]) if name in fields else ABSENT for name in known))

    def name_unknown(
        self, fields: Mapping[str, Raw], known: Collection[str], notes: ResponseNotes, place: str = ""
    ) -> None:
        """Names the fields that are ignored."""
        unknown = [name for name in fields if name not in known]
        if unknown:
            letters = self._letters.decode()
            warn(notes, place + explain_fields([name.replace(letters, r"\u") for name in unknown], known))

    def _as_sent(self, raw: Raw) -> Raw:
        """Restores the lone surrogates in a piece of the body."""
        return Raw(bytes(raw).replace(self._letters, rb"\u"))


def warn(notes: ResponseNotes, warning: str) -> None:
    """Adds a warning to the answer."""
    notes.warning = warning if notes.warning is None else f"{notes.warning}; {warning}"


def _letters_absent_from(body: bytes) -> bytes:
    """Returns random letters that the body lacks: a sender who predicts them could force a long search."""
    letters = b"lone" + token_hex(8).encode()
    return letters if letters not in body else _letters_absent_from(body)
