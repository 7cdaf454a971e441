"""Client of KVS Gateway: put, get and delete, signed, with deadlines, retries and typed errors.

    from kvs_client import from_env

    notes = from_env("notes")
    notes.put("greeting", {"text": "hello"}, ttl_seconds=3600)
    entry = notes.get("greeting")

`kvs_client.aio` has the same for asyncio.

table            what both clients have in common
client           the synchronous client; transport its attempts, pool its connections
aio              the asynchronous client; async_transport its attempts
course           when a call is repeated, and how long it pauses before
answers          what an answer means; encoding has the bodies
errors           what a call can fail with
configuration    the variables of the environment; options the numbers
signing          Signature V4; credentials where its secrets come from
forks            what a process does not share with the one that forked it
single_flight    one making of a value at a time
testing          a pytest plugin that starts a gateway
"""

from kvs_client.aio import AsyncClient
from kvs_client.client import Client
from kvs_client.configuration import Configuration
from kvs_client.encoding import Entry
from kvs_client.errors import (
    ConfigurationError,
    DeadlineExceeded,
    InvalidAnswer,
    InvalidRequest,
    KvsError,
    NotAuthorized,
    RateLimited,
    Unavailable,
)
from kvs_client.options import Options

__all__ = [
    "AsyncClient",
    "Client",
    "Configuration",
    "ConfigurationError",
    "DeadlineExceeded",
    "Entry",
    "InvalidAnswer",
    "InvalidRequest",
    "KvsError",
    "NotAuthorized",
    "Options",
    "RateLimited",
    "Unavailable",
    "from_env",
]


def from_env(
    table: str, options: Options | None = None, *, prefix: str = "", variable_prefix: str = "SERVICE"
) -> Client:
    """The client of a table, from `SERVICE_KVS_URL`, `_REGION` and `_TOKEN_<TABLE>`."""
    return Client.from_env(table, options, prefix=prefix, variable_prefix=variable_prefix)
