"""Contradictions in `workloads`: identities without an issuer or token, or given twice."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from gateway.config.problems import Problems, repeats
from gateway.config.settings import Settings, WorkloadRole, WorkloadSettings, is_url
from gateway.credentials.keyring import ApprovedRoles
from gateway.domain.rules import BEARER_TOKEN

_OF_AN_ISSUER = ("issuer", "audience", "jwks")


def check_workloads(settings: Settings, problems: Problems) -> None:
    """Notes every contradiction of the workloads and their listener."""
    if settings.workloads and settings.listen.credentials is None:
        problems.add("workloads", "need listen.credentials")
    if settings.listen.credentials is not None and settings.signature.credentials.session is None:
        problems.add("listen.credentials", "needs signature.credentials.session")
    for index, workloads in enumerate(settings.workloads):
        _check_issuer(workloads, f"workloads[{index}]", problems)
    for index in repeats([each.issuer or index for index, each in enumerate(settings.workloads)]):
        problems.add(f"workloads[{index}].issuer", "is given more than once")
    for path, token in _tokens(settings):
        if not BEARER_TOKEN.fullmatch(token.encode()):
            problems.add(path, "contains a character that a header cannot carry")
    roles = ApprovedRoles(settings.signature.approved_roles)
    for path, each in _roles(settings.workloads):
        if not roles.approves(each.role):
            problems.add(f"{path}.role", "is not one of signature.approved_roles")


def _check_issuer(workloads: WorkloadSettings, path: str, problems: Problems) -> None:
    given = [key for key in _OF_AN_ISSUER if getattr(workloads, key) is not None]
    if not given and not workloads.subjects:
        if not workloads.tokens:
            problems.add(path, "needs an issuer or tokens")
        return
    for key in _OF_AN_ISSUER:
        if key not in given:
            problems.add(f"{path}.{key}", "is required")
    if workloads.jwks is not None:
        check_keys(workloads.jwks, f"{path}.jwks", problems)
    for index in repeats([each.subject for each in workloads.subjects]):
        problems.add(f"{path}.subjects[{index}].subject", "is given more than once")


def check_keys(jwks: str, path: str, problems: Problems) -> None:
    """Notes a file that cannot be read, and a URL with a user, since logged URLs must hold no password."""
    if not is_url(jwks):
        if problems.with_files and not Path(jwks).is_file():
            problems.add(path, "is neither a URL nor a file that can be read")
    elif "@" in jwks.partition("://")[2].partition("/")[0]:
        problems.add(path, "names a user: an issuer shows its keys to everyone")


def _tokens(settings: Settings) -> Iterator[tuple[str, str]]:
    for index, workloads in enumerate(settings.workloads):
        for number, each in enumerate(workloads.tokens):
            yield f"workloads[{index}].tokens[{number}].token", each.token


def _roles(every: Sequence[WorkloadSettings]) -> Iterator[tuple[str, WorkloadRole]]:
    for index, workloads in enumerate(every):
        for number, subject in enumerate(workloads.subjects):
            yield f"workloads[{index}].subjects[{number}]", subject
        for number, token in enumerate(workloads.tokens):
            yield f"workloads[{index}].tokens[{number}]", token
