"""What the control plane refuses: status and code of each.

DirectoryRefusal
    Unauthorized 401                               no or wrong control token
    AppNotFound, TableNotFound 404
    TableExists, TableLimitReached, DeclaredApp, SessionsDisabled 409
    TypeNotServed 422                              the app's type may not have tables
    Invalid 422, one code per field
"""

from typing import ClassVar


class DirectoryRefusal(Exception):
    """Base of every "no" of the control plane."""

    status: ClassVar[int]
    code: str


class Unauthorized(DirectoryRefusal):
    status = 401

    def __init__(self, code: str) -> None:
        super().__init__()
        self.code = code


class AppNotFound(DirectoryRefusal):
    status = 404
    code = "app_not_found"


class TableNotFound(DirectoryRefusal):
    status = 404
    code = "table_not_found"


class TableExists(DirectoryRefusal):
    status = 409
    code = "table_exists"


class TableLimitReached(DirectoryRefusal):
    status = 409
    code = "table_limit_reached"


class DeclaredApp(DirectoryRefusal):
    status = 409
    code = "declared_app"


class SessionsDisabled(DirectoryRefusal):
    status = 409
    code = "session_credentials_disabled"


class TypeNotServed(DirectoryRefusal):
    status = 422
    code = "unsupported_app_type"


class Invalid(DirectoryRefusal):
    """A field that is missing, of the wrong type or out of range."""

    status = 422

    def __init__(self, code: str) -> None:
        super().__init__()
        self.code = code
