"""Creates or verifies the table through aiobotocore, once, while no call waits for it."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from aiobotocore.config import AioConfig
from botocore.exceptions import ClientError

from backends.dynamodb.credentials import FreshCredentials, new_session
from backends.dynamodb.failures import CREDENTIALS_REFUSED
from backends.dynamodb.items import ATTRIBUTES, KEY_SCHEMA, TTL_ATTRIBUTE
from backends.dynamodb.settings import DynamoSettings
from backends.errors import BackendError, BackendMisconfigured, BackendUnavailable

_POLL_SECONDS = 0.2
_CREDENTIALS_SECONDS = 2.0
_CONFIG = AioConfig(connect_timeout=1, read_timeout=2, retries={"total_max_attempts": 1}, proxies={})
_ENABLED = ("ENABLED", "ENABLING")


async def prepare_table(settings: DynamoSettings, endpoint_url: str, fresh: FreshCredentials) -> None:
    """Creates or verifies the table, its key and its time to live. Raises BackendError.

    Each call makes a new client, which reads the files of AWS SDKs again.
    """
    credentials = await fresh.current(asyncio.get_running_loop().time() + _CREDENTIALS_SECONDS)
    try:
        async with new_session().create_client(
            "dynamodb",
            region_name=settings.region,
            endpoint_url=endpoint_url,
            aws_access_key_id=credentials.access_key_id,
            aws_secret_access_key=credentials.secret,
            aws_session_token=credentials.token,
            config=_CONFIG,
        ) as client:
            await _create_or_verify(client, settings)
    except BackendError:
        raise
    except ClientError as error:
        if error.response["Error"]["Code"] in CREDENTIALS_REFUSED:
            fresh.invalidate(credentials)
        raise _error(error) from None
    except Exception as error:  # botocore's parsers raise anything for what is not DynamoDB
        name = type(error).__name__
        raise BackendUnavailable(f"cannot verify the DynamoDB table ({name})") from None


async def _create_or_verify(client: Any, settings: DynamoSettings) -> None:
    name = settings.table
    table = await _find(client, name)
    if settings.create_table and (table is None or table["TableStatus"] == "CREATING"):
        table = await _create(client, name)
    if table is None:
        raise BackendMisconfigured("the table does not exist; set create_table: true to create it")
    mistakes = list(_mistakes(table))
    if settings.create_table and not mistakes and table.get("ItemCount") == 0:
        await _enable_ttl(client, name)
    mistakes += _ttl_mistakes(await _ttl(client, name))
    if mistakes:
        raise BackendMisconfigured("the table does not fit: " + "; ".join(mistakes))


async def _find(client: Any, name: str) -> dict[str, Any] | None:
    try:
        output = await client.describe_table(TableName=name)
    except client.exceptions.ResourceNotFoundException:
        return None
    table: dict[str, Any] = output["Table"]
    return table


async def _ttl(client: Any, name: str) -> dict[str, Any]:
    output = await client.describe_time_to_live(TableName=name)
    ttl: dict[str, Any] = output["TimeToLiveDescription"]
    return ttl


async def _create(client: Any, name: str) -> dict[str, Any]:
    """Creates the table and waits until it is active; another replica may create it concurrently."""
    with suppress(client.exceptions.ResourceInUseException):
        await client.create_table(
            TableName=name,
            KeySchema=KEY_SCHEMA,
            AttributeDefinitions=ATTRIBUTES,
            BillingMode="PAY_PER_REQUEST",
        )
    table = await _find(client, name)
    while table is None or table["TableStatus"] != "ACTIVE":
        await asyncio.sleep(_POLL_SECONDS)
        table = await _find(client, name)
    return table


async def _enable_ttl(client: Any, name: str) -> None:
    """Enables time to live on a new table, unless another replica has, or is about to."""
    if (await _ttl(client, name)).get("TimeToLiveStatus") != "DISABLED":
        return
    try:
        await client.update_time_to_live(
            TableName=name, TimeToLiveSpecification={"Enabled": True, "AttributeName": TTL_ATTRIBUTE}
        )
    except ClientError as error:
        if error.response["Error"]["Code"] != "ValidationException":  # the code for "already enabled"
            raise


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
    return kind(f"DynamoDB refuses {error.operation_name}, needed to verify the table ({code})")
