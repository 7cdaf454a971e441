"""Settings of `kind: dynamodb`."""

import re
from collections.abc import Iterator
from typing import Annotated
from urllib.parse import urlsplit

from msgspec import Meta

from backends.backend import AdapterSettings


class DynamoSettings(AdapterSettings, frozen=True, kw_only=True, tag="dynamodb"):
    """One table. Credentials are not settings: they come from the sources of AWS SDKs."""

    table: Annotated[
        str,
        Meta(
            pattern=r"^(arn:aws[a-z-]*:dynamodb:[a-z0-9-]+:[0-9]{12}:table/)?[A-Za-z0-9._-]{3,255}\Z",
            description="the ARN of a table, or a name of letters, digits and . _ -, 3 to 255 characters",
        ),
    ]
    region: Annotated[
        str,
        Meta(pattern=r"^[a-z0-9-]{1,64}\Z", description="lower-case letters, digits and hyphens, at most 64"),
    ]
    endpoint_url: (
        Annotated[
            str,
            Meta(
                pattern=r"^https?://[A-Za-z0-9.:\[\]-]+/?\Z",
                description="an http or https URL without a path",
            ),
        ]
        | None
    ) = None
    create_table: bool = False
    strong_reads: bool = True

    def mistakes(self) -> Iterator[tuple[str, str]]:
        if self.endpoint_url is not None and not _has_host(self.endpoint_url):
            yield "endpoint_url", "expected a URL like http://127.0.0.1:8000"
        if self.table.startswith("arn:") and self.table.split(":")[3] != self.region:
            yield "table", "the ARN names another region"


def _has_host(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(re.search("[A-Za-z0-9]", parts.hostname or "")) and parts.port != 0
    except ValueError:
        return False
