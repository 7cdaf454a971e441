"""Which roles may call: glob patterns over role ARNs, matched as IAM's ArnLike does."""

import re
from collections.abc import Iterable
from functools import lru_cache

_ASSUMED = re.compile(r"arn:([^:]*):sts::([^:]*):assumed-role/([^/:]+)/[^/:]+")
_CHARACTER = "[!-9;-~]"  # visible ASCII but the colon


class ApprovedRoles:
    """`*` and `?` match within one colon-separated part of an ARN; every other character is itself."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._pattern = re.compile("|".join(map(_translate, patterns)) or r"(?!)")
        self.approves = lru_cache(10_000)(self._approves)

    def _approves(self, role: str) -> bool:
        return self._pattern.fullmatch(role) is not None


def role_of(arn: str) -> str:
    """The role behind an assumed-role session's ARN; any other ARN is returned as it is."""
    session = _ASSUMED.fullmatch(arn)
    if session is None:
        return arn
    partition, account, role = session.groups()
    return f"arn:{partition}:iam::{account}:role/{role}"


def _translate(pattern: str) -> str:
    return re.escape(pattern).replace(r"\*", f"{_CHARACTER}*").replace(r"\?", _CHARACTER)
