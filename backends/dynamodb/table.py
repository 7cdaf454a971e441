"""Creates or verifies the table, through aiobotocore's client: it happens once, and no call waits for it."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from aiobotocore.config import AioConfig
from aiobotocore.session import AioSession
from botocore.exceptions import BotoCoreError, ClientError

from backends.dynamodb.schema import ATTRIBUTES, KEY_SCHEMA, TTL_ATTRIBUTE
from backends.errors import BackendError, BackendMisconfigured, BackendUnavailable
from backends.settings import DynamoSettings

_LOOK_SECONDS = 0.2
_CONFIG = AioConfig(connect_timeout=1, read_timeout=2, retries={"total_max_attempts": 1})
_ENABLED = ("ENABLED", "ENABLING")


async def prepare_table(settings: DynamoSettings) -> None:
    """Returns when the table is there and as it should be. Raises BackendError."""
    try:
        async with AioSession().create_client(
            "dynamodb", region_name=settings.region, endpoint_url=settings.endpoint_url, config=_CONFIG
        ) as client:
            await _prepare(client, settings)
    except ClientError as error:
        raise _error(error) from None
    except BotoCoreError as error:
        raise BackendUnavailable(f"DynamoDB cannot be asked for the table ({type(error).__name__})") from None


async def _prepare(client: Any, settings: DynamoSettings) -> None:
    table = await _find(client, settings.table)
    if table is None and settings.create_table:
        table = await _create(client, settings.table)
    if table is None:
        raise BackendMisconfigured("there is no such table; create_table: true makes one")
    ttl = (await client.describe_time_to_live(TableName=settings.table))["TimeToLiveDescription"]
    mistakes = [*_mistakes(table), *_ttl_mistakes(ttl)]
    if mistakes:
        raise BackendMisconfigured("the table is not as it should be: " + "; ".join(mistakes))


async def _find(client: Any, name: str) -> dict[str, Any] | None:
    try:
        answer = await client.describe_table(TableName=name)
    except client.exceptions.ResourceNotFoundException:
        return None
    table: dict[str, Any] = answer["Table"]
    return table


async def _create(client: Any, name: str) -> dict[str, Any]:
    """Another replica may do the same at the same time."""
    with suppress(client.exceptions.ResourceInUseException):
        await client.create_table(
            TableName=name,
            KeySchema=KEY_SCHEMA,
            AttributeDefinitions=ATTRIBUTES,
            BillingMode="PAY_PER_REQUEST",
        )
    table = await _find(client, name)
    while table is None or table["TableStatus"] != "ACTIVE":
        await asyncio.sleep(_LOOK_SECONDS)
        table = await _find(client, name)
    try:
        await client.update_time_to_live(
            TableName=name, TimeToLiveSpecification={"Enabled": True, "AttributeName": TTL_ATTRIBUTE}
        )
    except ClientError as error:
        if error.response["Error"]["Code"] != "ValidationException":  # which says that it is on already
            raise
    return table


def _mistakes(table: dict[str, Any]) -> Iterator[str]:
    if table["TableStatus"] not in ("ACTIVE", "UPDATING"):
        yield f"its status is {table['TableStatus']}"
    if _sorted(table["KeySchema"]) != _sorted(KEY_SCHEMA):
        yield "its key is not pk (HASH) and sk (RANGE)"
    types = {each["AttributeName"]: each["AttributeType"] for each in table["AttributeDefinitions"]}
    if any(types.get(each["AttributeName"]) != each["AttributeType"] for each in ATTRIBUTES):
        yield "pk and sk are not strings"


def _ttl_mistakes(ttl: dict[str, Any]) -> Iterator[str]:
    if ttl.get("TimeToLiveStatus") not in _ENABLED or ttl.get("AttributeName") != TTL_ATTRIBUTE:
        yield f"time to live is not enabled on the attribute {TTL_ATTRIBUTE}"


def _sorted(schema: list[dict[str, str]]) -> list[tuple[str, str]]:
    return sorted((each["AttributeName"], each["KeyType"]) for each in schema)


def _error(error: ClientError) -> BackendError:
    code = str(error.response["Error"]["Code"])
    status = error.response["ResponseMetadata"]["HTTPStatusCode"]
    kind = (
        BackendUnavailable if status >= 500 or "Thrott" in code or "Expired" in code else BackendMisconfigured
    )
    return kind(f"DynamoDB does not let this gateway look after the table ({code})")
