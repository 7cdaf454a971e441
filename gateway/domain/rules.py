"""All limits and name patterns, as the types that settings and request fields are checked against.

Configuration may lower limits, never raise them. Every pattern matches a whole text, not a part of it.
"""

import re
from typing import Annotated, Literal

from msgspec import Meta, Struct

WINDOW_MS = 60_000
"""Length of a rate limit's fixed window."""

SUPPORTED_APP_TYPES = frozenset({"api", "web-ssr", "sse"})
"""App types whose calls are served. Other types (such as static `web`) can be registered, but not called."""


def unserved_type(app_type: str) -> str:
    """Explains that calls of this app type are refused."""
    return f"app type: {app_type}, allowed: {', '.join(sorted(SUPPORTED_APP_TYPES))}"


DEFAULT_ENV = "production"

_NAME = "[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
_NAME_IN_WORDS = "letters, digits, dots, underscores and hyphens, starting with a letter or digit, at most 64"
Name = Annotated[str, Meta(pattern=rf"^{_NAME}\Z", description=_NAME_IN_WORDS)]
"""Name of an organization, app or environment."""

_ENCRYPTED_CURSOR = "~[A-Za-z0-9_-]{1,256}"
AppCursor = Annotated[
    str,
    Meta(
        pattern=rf"^({_NAME}(/{_NAME})?|{_ENCRYPTED_CURSOR})\Z",
        description="an app, app/env, or the value in the link to the next page",
    ),
]
"""Start of a page of apps: after an app, after one of its environments, or where a link points."""

OrgCursor = Annotated[
    str,
    Meta(
        pattern=rf"^({_NAME}|{_ENCRYPTED_CURSOR})\Z",
        description="an organization, or the value in the link to the next page",
    ),
]
"""Start of a page of organizations: after one of them, or where a link points."""

PageLimit = Annotated[int, Meta(ge=1, le=1000)]
"""Number of items on a page."""

TableName = Annotated[
    str,
    Meta(pattern=r"^[A-Za-z0-9_]{1,32}\Z", description="letters, digits and underscores, at most 32"),
]
AppType = Annotated[
    str,
    Meta(
        pattern=r"^[a-z][a-z0-9-]{0,31}\Z",
        description="lower-case letters, digits and hyphens, starting with a letter, at most 32",
    ),
]
Region = Annotated[
    str,
    Meta(pattern=r"^[a-z0-9-]{1,64}\Z", description="lower-case letters, digits and hyphens, at most 64"),
]

VariablePrefix = Annotated[
    str,
    Meta(
        pattern=r"^[A-Z][A-Z0-9_]{0,31}\Z",
        description="capital letters, digits and underscores, starting with a letter, at most 32",
    ),
]
"""Prefix of the variables of an app."""


def is_ambiguous_prefix(prefix: str) -> bool:
    """Returns whether a variable with this prefix may be a table token under another prefix.

    `A_KVS_TOKEN_B_KVS_URL` is the URL for the prefix `A_KVS_TOKEN_B`, and the token of B_KVS_URL for `A`.
    """
    return "_KVS_TOKEN_" in f"{prefix}_"


CallsPerMinute = Annotated[int, Meta(ge=1, le=1_000_000_000)]
"""The limit of a window, for an app environment or for a table."""

TableCount = Annotated[int, Meta(ge=0, le=1000)]
"""Maximum number of tables of an app environment."""

StorageBytes = Annotated[int, Meta(ge=1, le=9_007_199_254_740_991)]
"""Storage limit of an app environment: keys and values of its live entries. At most what JSON readers count
exactly."""

OverlapSeconds = Annotated[int, Meta(ge=0, le=30 * 86_400)]
"""Time for which the previous token works after a rotation."""

AccessKeyId = Annotated[
    str,
    Meta(pattern=r"^[!-.0-~]{1,128}\Z", description="visible ASCII characters without a slash, at most 128"),
]
"""Visible ASCII without the slash, which separates it from the scope that follows it."""

MasterKey = Annotated[str, Meta(min_length=32)]
SessionSeconds = Annotated[int, Meta(ge=1, le=7 * 86_400)]
"""Lifetime of session credentials."""

DEFAULT_SESSION_SECONDS = 3600

Role = Annotated[str, Meta(max_length=2048, description="a role ARN of at most 2048 characters")]
"""An ARN. AWS has the same bound; a session token that contains it has to fit into a header field."""

Permission = Literal["read", "tables", "apps", "credentials"]
"""Permissions of the control plane: to read, to change tables, to change apps, to issue credentials."""

ScopePattern = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9._*?!\[\]-]{1,128}\Z",
        description="letters, digits, dots, underscores, hyphens and the wildcards * ? [ ] !, at most 128",
    ),
]
"""A shell-style pattern of organizations or apps."""

BearerName = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._@/-]{0,63}\Z",
        description="letters, digits and . _ @ / -, starting with a letter or digit, at most 64",
    ),
]
"""Name of a control token's bearer in the audit log."""

BEARER_TOKEN = re.compile(rb"[!-~\x80-\xff]+")
"""Tokens that a header field carries unchanged: no spaces, no control characters."""

SECRET_CHARACTERS = 16
"""Minimum length of a configured secret. Its randomness is up to the operator."""

Secret = Annotated[str, Meta(min_length=SECRET_CHARACTERS)]


def is_repetitive(secret: str) -> bool:
    """Returns whether a secret is one short piece written twice or more; the last copy may be cut (D143).

    The piece is at most half of the secret. So the second copy begins where the first half occurs again.
    """
    length = secret.find(secret[: (len(secret) + 1) // 2], 1)
    return length > 0 and secret.startswith(secret[length:])


PAGE_ENTRIES = 1000
"""Maximum number of entries on a page of a list."""

DEFAULT_PAGE_ENTRIES = 100
PAGE_BYTES = 1_048_576
"""Size of a page's body, which its last entry may exceed."""

BATCH_OPERATIONS = 25
"""Maximum number of operations of a batch."""

CONTROL_BODY_BYTES = 65_536
"""The largest body of a control-plane request."""


class Limits(Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of one call, whose defaults are the maxima, and of an app: `limits:` in the configuration."""

    body_bytes: Annotated[int, Meta(ge=1, le=131_072)] = 131_072
    key_bytes: Annotated[int, Meta(ge=1, le=512)] = 512
    value_bytes: Annotated[int, Meta(ge=1, le=65_536)] = 65_536
    min_ttl_seconds: Annotated[int, Meta(ge=1, le=60)] = 60
    max_ttl_seconds: Annotated[int, Meta(ge=1, le=31_536_000)] = 31_536_000
    default_ttl_seconds: Annotated[int, Meta(ge=1, le=31_536_000)] | None = None
    """TTL of entries that are put without one; None means that they do not expire."""
    app_bytes: StorageBytes | None = None
    """Storage limit of apps that set none of their own; None means no limit."""


def is_text(value: str) -> bool:
    """Returns whether a value is UTF-8; Python reads other bytes of its surroundings as surrogates."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
