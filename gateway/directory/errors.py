"""Refusals of the directory: changes of an app environment or table that its rules forbid."""

# The tables keep one refusal to a line:
# fmt: off

from gateway.domain.errors import Refusal, Unavailable


class ControlRefusal(Refusal):
    """Base of the refusals of the control plane: a rule forbids the change, and nothing was changed."""


class AppNotFound(
    ControlRefusal, status=404, code="app_not_found",
    detail="no such app environment: mistyped, in another environment (?env=), or not registered",
): ...
class AppExists(
    ControlRefusal, status=412, code="app_exists",
    detail="the app environment exists, and If-None-Match: * asks for a new one; use PATCH to change it",
): ...
class AppIsDeclared(
    ControlRefusal, status=409, code="declared_app",
    detail="this app is declared in the configuration file; change it there",
): ...
class AppTypeNotServed(ControlRefusal, status=422, code="unsupported_app_type"): ...
class TableNotFound(
    ControlRefusal, status=404, code="table_not_found",
    detail="no such table: mistyped (upper and lower case differ), or deleted",
): ...
class TableExists(
    ControlRefusal, status=409, code="table_exists",
    detail="the app environment already has a table with this name, ignoring upper and lower case",
): ...
class TableLimitReached(ControlRefusal, status=409, code="table_limit_reached"): ...
class TooManyTokens(ControlRefusal, status=409, code="too_many_tokens"): ...

class ChangeUnknown(
    Unavailable, code="auth_unavailable",
    detail="it is not known whether the change was applied; it can be repeated safely",
):
    """Not a ControlRefusal: the store did not answer in time, so the change may have been applied.

    The command `kvs-gateway` recognizes this outcome by its detail; older versions would miss a changed text.
    """
