"""The AWS Signature V4 test suite in `vectors`: requests, canonical requests, signatures."""

from dataclasses import dataclass, replace
from pathlib import Path

from gateway.domain.call import Headers
from gateway.sigv4 import SignatureRules, SigningKeys, examine

FOLDER = Path(__file__).parent / "vectors" / "sigv4-2015"
SECRET = b"wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
RULES = SignatureRules(region="us-east-1", service="service")
NOW_SECONDS = 1_440_938_160  # 2015-08-30T12:36:00Z

NOT_HTTP = {
    "get-header-value-multiline": "a folded header line is no longer HTTP",
    "get-space": "a request target cannot hold a space",
    "get-utf8": "a request target is ASCII",
    "get-vanilla-utf8-query": "a request target is ASCII",
}
"""Cases that no HTTP server can receive, with the reasons."""


@dataclass(frozen=True)
class Case:
    """One request of the suite and its Authorization."""

    name: str
    method: bytes
    target: bytes
    fields: tuple[tuple[bytes, bytes], ...]
    body: bytes
    canonical_request: bytes
    authorization: bytes

    def but(self, **changes) -> "Case":
        return replace(self, **changes)

    def verify(self) -> None:
        """Verifies the request; raises the gateway's refusal."""
        headers = Headers([*self.fields, (b"Authorization", self.authorization)])
        claim = examine(self.method, self.target, headers, self.body, rules=RULES, now_seconds=NOW_SECONDS)
        SigningKeys().prove(claim, SECRET)


def read_case(name: str) -> Case:
    """Reads the case of this name."""
    (path,) = FOLDER.rglob(f"{name}.req")
    head, _, body = path.read_bytes().partition(b"\n\n")
    request_line, *lines = head.split(b"\n")
    method, _, rest = request_line.partition(b" ")
    fields = [line.partition(b":") for line in lines]
    return Case(
        name=name,
        method=method,
        target=rest.removesuffix(b" HTTP/1.1"),
        fields=tuple((field, value) for field, _, value in fields),
        body=body,
        canonical_request=path.with_suffix(".creq").read_bytes(),
        authorization=path.with_suffix(".authz").read_bytes(),
    )


def read_sent(name: str) -> bytes:
    """Returns the request with its Authorization as bytes for the wire."""
    (path,) = FOLDER.rglob(f"{name}.sreq")
    head, _, body = path.read_bytes().partition(b"\n\n")
    return head.replace(b"\n", b"\r\n") + b"\r\n\r\n" + body


NAMES = sorted(path.stem for path in FOLDER.rglob("*.req"))
CASES = [read_case(name) for name in NAMES if name not in NOT_HTTP]
