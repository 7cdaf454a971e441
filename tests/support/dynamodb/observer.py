"""The tests' own view of a table, through botocore and nothing of the gateway."""

import functools
from collections.abc import Iterator
from typing import Any

import botocore.session
from botocore.client import BaseClient
from botocore.config import Config

REGION = "eu-central-1"
ACCESS_KEY_ID = "AKIDOFTHETESTS"
SECRET_ACCESS_KEY = "secret-of-the-tests"
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": ACCESS_KEY_ID,
    "AWS_SECRET_ACCESS_KEY": SECRET_ACCESS_KEY,
    "AWS_EC2_METADATA_DISABLED": "true",
}
"""For who shall see the tables that the observer sees: engines keep those of regions and accounts apart."""


class Observer:
    """A client without retries; strongly consistent wherever there is a choice."""

    def __init__(self, endpoint_url: str) -> None:
        self.client = _client(endpoint_url)

    def get_item(self, table: str, key: dict[str, Any]) -> dict[str, Any] | None:
        return self.client.get_item(TableName=table, Key=key, ConsistentRead=True).get("Item")

    def scan(self, table: str) -> list[dict[str, Any]]:
        return list(self._pages(table))

    def describe_table(self, table: str) -> dict[str, Any]:
        return self.client.describe_table(TableName=table)["Table"]

    def describe_time_to_live(self, table: str) -> dict[str, Any]:
        return self.client.describe_time_to_live(TableName=table)["TimeToLiveDescription"]

    def close(self) -> None:
        self.client.close()

    def _pages(self, table: str) -> Iterator[dict[str, Any]]:
        for page in self.client.get_paginator("scan").paginate(TableName=table, ConsistentRead=True):
            yield from page["Items"]


@functools.cache
def _session() -> botocore.session.Session:
    """Loading the models takes longer than starting an engine."""
    return botocore.session.Session()


def _client(endpoint_url: str) -> BaseClient:
    return _session().create_client(
        "dynamodb",
        region_name=REGION,
        endpoint_url=endpoint_url,
        aws_access_key_id=ACCESS_KEY_ID,
        aws_secret_access_key=SECRET_ACCESS_KEY,
        config=Config(
            retries={"total_max_attempts": 1},
            connect_timeout=5,
            read_timeout=10,
            max_pool_connections=32,
            proxies={},
        ),
    )
