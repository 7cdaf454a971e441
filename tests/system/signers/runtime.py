"""The environment of an app, and the answers it must get to a put, a get and a delete."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

VALUE = {"name": "Zoë", "price": "5 €", "mood": "😀"}
KEY = "user:ü/1"

CALLS = [("put", {"key": KEY, "value": VALUE}), ("get", {"key": KEY}), ("delete", {"key": KEY})]
EXPECTED = [
    {"status": 200, "body": {"ok": True}},
    {"status": 200, "body": {"found": True, "value": VALUE, "expiresAt": None}},
    {"status": 200, "body": {"deleted": True}},
]

Answers = list[dict[str, Any]]
Post = Callable[[str, dict[str, str], bytes], tuple[int, bytes]]


@dataclass(frozen=True)
class Runtime:
    """A function's role credentials and the variables of the service."""

    url: str
    region: str
    table_token: str
    access_key_id: str
    secret_access_key: str
    session_token: str | None = None

    def but(self, **changes: str | None) -> "Runtime":
        return replace(self, **changes)

    @property
    def variables(self) -> dict[str, str]:
        """Under the names that functions find them by."""
        variables = {
            "SERVICE_KVS_URL": self.url,
            "SERVICE_KVS_REGION": self.region,
            "SERVICE_KVS_TOKEN_SESSIONS": self.table_token,
            "AWS_ACCESS_KEY_ID": self.access_key_id,
            "AWS_SECRET_ACCESS_KEY": self.secret_access_key,
        }
        return (
            variables if self.session_token is None else variables | {"AWS_SESSION_TOKEN": self.session_token}
        )

    def make_calls(self, post: Post) -> Answers:
        """A put, a get and a delete with `post`, which signs and sends."""
        headers = {"Content-Type": "application/json", "X-KVS-Authorization": f"Bearer {self.table_token}"}
        answers = []
        for operation, fields in CALLS:
            body = json.dumps(fields, ensure_ascii=False).encode()
            status, content = post(f"{self.url}/v1/{operation}", headers, body)
            answers.append({"status": status, "body": json.loads(content)})
        return answers
