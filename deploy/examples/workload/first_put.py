"""Puts an entry once a minute; botocore fetches credentials by web identity and keeps them fresh."""

import json
import os
import time
from urllib.request import Request, urlopen

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.session import Session

CREDENTIALS = Session().get_credentials()


def put(key: str, value: object) -> dict[str, object]:
    """Sends one signed request, with the table token in its own header."""
    call = AWSRequest(
        "POST",
        f"{os.environ['SERVICE_KVS_URL']}/v1/put",
        data=json.dumps({"key": key, "value": value}).encode(),
        headers={
            "Content-Type": "application/json",
            "X-KVS-Authorization": f"Bearer {os.environ['SERVICE_KVS_TOKEN_DRAFTS']}",
        },
    )
    current = CREDENTIALS.get_frozen_credentials()
    SigV4Auth(current, "execute-api", os.environ["SERVICE_KVS_REGION"]).add_auth(call)
    with urlopen(Request(call.url, call.data, dict(call.headers), method="POST"), timeout=10) as answer:
        return json.load(answer)


while True:
    print(put("greeting", "hello"))
    time.sleep(60)
