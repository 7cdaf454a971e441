"""Client of KVS Gateway: put, get and delete, signed, with deadlines, retries and typed errors.

    from kvs_client import from_env

    notes = from_env("notes")
    notes.put("greeting", {"text": "hello"}, ttl_seconds=3600)
    entry = notes.get("greeting")

`kvs_client.aio` has the same for asyncio.

table            base class of both clients
client           the synchronous client; transport has its attempts, pool its connections
aio              the asynchronous client; async_transport has its attempts, async_pool its connections
async_connection one connection of the asynchronous client; heads has the heads of answers
retries          retries of a call, and the pauses before them
answers          a response as a result or an error; encoding has the bodies
errors           the errors of calls
configuration    the variables of the environment; options has the numbers
signing          Signature V4; credentials has the source of its secrets
forks            renewal of connections, locks and credentials in forked processes
single_flight    at most one computation of a value at a time
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
    """Creates the client of a table from `SERVICE_KVS_URL`, `_REGION` and `_TOKEN_<TABLE>`."""
    return Client.from_env(table, options, prefix=prefix, variable_prefix=variable_prefix)
