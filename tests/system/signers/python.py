"""Signers for Python, used as their own documentation shows."""

import requests
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.httpsession import URLLib3Session
from requests_aws4auth import AWS4Auth

from tests.system.signers.runtime import Answers, Runtime


def call_with_botocore(runtime: Runtime) -> Answers:
    credentials = Credentials(runtime.access_key_id, runtime.secret_access_key, runtime.session_token)
    session = URLLib3Session()

    def post(url: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
        request = AWSRequest(method="POST", url=url, data=body, headers=headers)
        SigV4Auth(credentials, "execute-api", runtime.region).add_auth(request)
        response = session.send(request.prepare())
        return response.status_code, response.content

    try:
        return runtime.make_calls(post)
    finally:
        session.close()


def call_with_requests_aws4auth(runtime: Runtime) -> Answers:
    auth = AWS4Auth(
        runtime.access_key_id,
        runtime.secret_access_key,
        runtime.region,
        "execute-api",
        session_token=runtime.session_token,
    )
    with requests.Session() as session:
        session.trust_env = False

        def post(url: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
            response = session.post(url, data=body, headers=headers, auth=auth, timeout=10)
            return response.status_code, response.content

        return runtime.make_calls(post)


SIGNERS = {"botocore": call_with_botocore, "requests-aws4auth": call_with_requests_aws4auth}
