"""Whether a request is signed as AWS asks for, in botocore's opinion."""

from collections.abc import Mapping

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

ALWAYS_SIGNED = {"host", "x-amz-date", "x-amz-target"}


def verify_signature(
    request: AWSRequest, given_headers: Mapping[str, str], credentials: Credentials, region: str
) -> None:
    """`request` without headers; those `given_headers` have names in lower case. Asserts what must be."""
    scheme, _, rest = given_headers["authorization"].partition(" ")
    assert scheme == "AWS4-HMAC-SHA256"
    given = dict(part.strip().split("=", 1) for part in rest.split(","))
    date = given_headers["x-amz-date"]
    assert given["Credential"] == f"{credentials.access_key}/{date[:8]}/{region}/dynamodb/aws4_request"
    assert given_headers.get("x-amz-security-token") == credentials.token
    signed = given["SignedHeaders"].split(";")
    must = ALWAYS_SIGNED | ({"x-amz-security-token"} if credentials.token else set())
    assert must <= set(signed), f"not signed: {must - set(signed)}"
    for name in signed:
        request.headers[name] = given_headers[name]
    request.context["timestamp"] = date
    auth = SigV4Auth(credentials, "dynamodb", region)
    expected = auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)
    assert given["Signature"] == expected, "the signature is not the one botocore makes"
