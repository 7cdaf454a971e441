"""JSON objects, whose fields stay as they were sent (D3).

A good object is decoded in one pass. Only one that fails is decoded again: it has unknown fields or a lone
surrogate, or its fault has to be explained (D168).
"""

import re
from secrets import token_hex
from typing import TypeVar

import msgspec
from msgspec import Raw, Struct

from gateway.dataplane.bodies.fields import ABSENT
from gateway.dataplane.diagnostics import explain_fields, explain_json
from gateway.domain.answers import LONGEST_TEXT
from gateway.domain.errors import InvalidJson
from gateway.domain.model import ResponseNotes

_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u([dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)
"""Escapes in JSON: a surrogate pair, a lone surrogate (the group holds its digits), or any other escape."""

_any_fields_decoder = msgspec.json.Decoder(dict[str, Raw])
_list_decoder = msgspec.json.Decoder(list[Raw])

Fields = TypeVar("Fields", bound=Struct)


def decode(
    body: bytes, decoder: msgspec.json.Decoder[Fields], notes: ResponseNotes, place: str = ""
) -> Fields:
    """Decodes an object whose fields are all `Raw`. Raises InvalidJson.

    Fields that the decoder's type does not have are ignored. A warning that begins with `place` names
    them in `notes`.
    """
    try:
        if not body.isascii():
            body.decode()  # msgspec does not validate the UTF-8 of strings that it skips
        return decoder.decode(body)
    except RecursionError:
        raise InvalidJson(explain_json(body)) from None
    except ValueError:
        return _decode_again(_Spelled(body), decoder.type, notes, place)


def decode_list(raw: Raw) -> list[Raw] | None:
    """Decodes an array that is JSON into its elements as they were sent. Returns None for another value."""
    try:
        return _list_decoder.decode(raw)
    except RecursionError:
        raise InvalidJson(explain_json(bytes(raw))) from None
    except msgspec.DecodeError:
        spelled = _Spelled(bytes(raw))
    try:
        return [spelled.as_sent(each) for each in _list_decoder.decode(spelled.text)]
    except msgspec.DecodeError:
        return None


def warn(notes: ResponseNotes, warning: str) -> None:
    """Adds a warning to the answer."""
    notes.warning = warning if notes.warning is None else f"{notes.warning}; {warning}"


def _decode_again(spelled: "_Spelled", wanted: type[Fields], notes: ResponseNotes, place: str) -> Fields:
    """Decodes an object with unknown fields or lone surrogates."""
    try:
        fields = _any_fields_decoder.decode(spelled.text)
    except (ValueError, RecursionError):
        raise InvalidJson(explain_json(spelled.without_surrogates())) from None
    known = wanted.__struct_encode_fields__
    unknown = [spelled.name_as_sent(name) for name in fields if name not in known]
    if unknown and len(notes.warning or "") < LONGEST_TEXT:  # explaining names is slow
        warn(notes, place + explain_fields(unknown, known))
    return wanted(*(spelled.as_sent(fields[name]) if name in fields else ABSENT for name in known))


class _Spelled:
    r"""A text whose lone surrogates, such as `\ud800`, are spelled in letters.

    The decoder refuses lone surrogates. Each is spelled in letters before decoding, and restored after it.
    """

    def __init__(self, text: bytes) -> None:
        self._letters = letters = _letters_absent_from(text)
        try:
            text.decode()
        except ValueError:
            raise InvalidJson(explain_json(text)) from None
        self.text = _ESCAPE.sub(lambda escape: letters + escape[1] if escape[1] else escape[0], text)

    def as_sent(self, raw: Raw) -> Raw:
        """Restores the lone surrogates in a part of the text."""
        return Raw(bytes(raw).replace(self._letters, rb"\u"))

    def name_as_sent(self, name: str) -> str:
        """Restores the lone surrogates in the name of a field."""
        return name.replace(self._letters.decode(), r"\u")

    def without_surrogates(self) -> bytes:
        """Returns a text of the same length, so that the places of faults are those in the text as sent."""
        return re.sub(self._letters + b"....", b"______", self.text)


def _letters_absent_from(text: bytes) -> bytes:
    """Returns random letters that the text lacks: a sender who predicts them could force a long search."""
    letters = b"lone" + token_hex(8).encode()
    return letters if letters not in text else _letters_absent_from(text)
