"""The ids of tables that version 0.2 may have created; their homes mark the layout of each (`layouts`)."""

import re

from backends.interface import Keyspace

_OLD = re.compile(r"(?:tbl|decl)_[0-9a-f]{32}")


def may_be_old(keyspace: Keyspace) -> bool:
    """Returns whether version 0.2 may have created the table: later versions give ids of another form.

    Declared tables have ids of the same form in all versions.
    """
    return _OLD.fullmatch(keyspace) is not None


def mark_field(keyspace: Keyspace) -> bytes:
    """Returns the field of the home's sizes that holds the mark of a table."""
    return f"l:{keyspace}".encode()
