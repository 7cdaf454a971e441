"""Every limit and every pattern of a name, once, as the types that settings and fields are checked against.

Configuration lowers limits, it never raises them. A pattern holds for a text as a whole.
"""

import re
from typing import Annotated, Literal

from msgspec import Meta, Struct

WINDOW_MS = 60_000
"""Length of a rate limit's fixed window."""

SUPPORTED_APP_TYPES = frozenset({"api", "web-ssr", "sse"})
"""Those that are served. An app of another type (static `web`) may be registered; its calls are refused."""


def unserved_type(app_type: str) -> str:
    """What to tell whose app is of a type that is not served."""
    return f"app type: {app_type}, allowed: {', '.join(sorted(SUPPORTED_APP_TYPES))}"


DEFAULT_ENV = "production"

_NAME = "[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
Name = Annotated[str, Meta(pattern=rf"^{_NAME}\Z")]
"""Of an organization, an app, an environment."""

_ENCRYPTED_CURSOR = "~[A-Za-z0-9_-]{1,256}"
AppCursor = Annotated[str, Meta(pattern=rf"^({_NAME}(/{_NAME})?|{_ENCRYPTED_CURSOR})\Z")]
"""Where a page of apps begins: behind an app, behind one environment of it, or where a link says."""

OrgCursor = Annotated[str, Meta(pattern=rf"^({_NAME}|{_ENCRYPTED_CURSOR})\Z")]
"""Where a page of organizations begins: behind one, or where a link says."""

PageLimit = Annotated[int, Meta(ge=1, le=1000)]
"""How much of a list is shown at once."""

TableName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_]{1,32}\Z")]
AppType = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9-]{0,31}\Z")]
Region = Annotated[str, Meta(pattern=r"^[a-z0-9-]{1,64}\Z")]

CallsPerMinute = Annotated[int, Meta(ge=1, le=1_000_000_000)]
"""The limit of a window, for an app environment or for a table."""

TableCount = Annotated[int, Meta(ge=0, le=1000)]
"""How many tables an app environment may have."""

OverlapSeconds = Annotated[int, Meta(ge=0, le=30 * 86_400)]
"""For how long a rotated table token still works."""

AccessKeyId = Annotated[str, Meta(pattern=r"^[!-.0-~]{1,128}\Z")]
"""Visible ASCII without the slash, which separates it from the scope that follows it."""

MasterKey = Annotated[str, Meta(min_length=32)]
SessionSeconds = Annotated[int, Meta(ge=1, le=7 * 86_400)]
"""Lifetime of session credentials."""

DEFAULT_SESSION_SECONDS = 3600

Role = Annotated[str, Meta(max_length=2048)]
"""An ARN, which AWS bounds like this; a session token that names it has to fit into a header field."""

Permission = Literal["read", "tables", "apps", "credentials"]
"""What a caller of the control plane may be allowed: to look; to change tables; to change apps; to issue."""

ScopePattern = Annotated[str, Meta(pattern=r"^[A-Za-z0-9._*?!\[\]-]{1,128}\Z")]
"""A shell-style pattern of organizations or apps."""

BearerName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._@/-]{0,63}\Z")]
"""What the bearer of a control token is called in the audit log."""

BEARER_TOKEN = re.compile(rb"[!-~\x80-\xff]+")
"""Control tokens and table tokens that a header carries unchanged: no blanks, no control characters."""

SECRET_CHARACTERS = 16
"""The fewest that a configured secret may have; how random they are is the operator's to see to."""

Secret = Annotated[str, Meta(min_length=SECRET_CHARACTERS)]


def is_repetitive(secret: str) -> bool:
    """Whether it is a piece of at most half its length, over and over; the last one may be cut (D197).

    Then its first half stands again where the second piece begins, and nowhere earlier.
    """
    length = secret.find(secret[: (len(secret) + 1) // 2], 1)
    return length > 0 and secret.startswith(secret[length:])


CONTROL_BODY_BYTES = 65_536
"""The largest body of a control-plane request."""


class Limits(Struct, frozen=True, forbid_unknown_fields=True):
    """What one call may carry: `limits:` in the configuration, whose defaults are the widest."""

    body_bytes: Annotated[int, Meta(ge=1, le=131_072)] = 131_072
    key_bytes: Annotated[int, Meta(ge=1, le=512)] = 512
    value_bytes: Annotated[int, Meta(ge=1, le=65_536)] = 65_536
    min_ttl_seconds: Annotated[int, Meta(ge=1, le=60)] = 60
    max_ttl_seconds: Annotated[int, Meta(ge=1, le=31_536_000)] = 31_536_000
    default_ttl_seconds: Annotated[int, Meta(ge=1, le=31_536_000)] | None = None
    """None: entries without a TTL of their own do not expire."""
