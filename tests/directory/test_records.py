"""Records that this gateway cannot have written are corrupt, and cause no other error."""

import pytest

from backends.errors import CorruptEntry
from backends.interface import Record
from gateway.directory.records import AppRecord, decode


@pytest.mark.parametrize("document", [b"", b"{", b"[]", b'"\xff"', b'{"type": "\xff"}', b"[" * 100_000])
def test_an_unreadable_record_is_corrupt(document):
    with pytest.raises(CorruptEntry):
        decode("app/acme/shop/production", Record(document, "1"), AppRecord)


def test_a_record_of_version_0_2_0_has_no_storage_limit_of_its_own():
    document = b'{"environment":{"org":"acme","app":"shop","env":"production"},"type":"api","active":true}'
    app = decode("app/acme/shop/production", Record(document, "1"), AppRecord)
    assert app.max_bytes is None
