"""From an address to a connection that is ready: TLS, credentials, database, inspections."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from socket import gaierror

from msgspec import Struct

from backends.errors import BackendMisconfigured, BackendUnavailable
from backends.redis.wire.commands import pack
from backends.redis.wire.connection import LOST, Connection
from backends.redis.wire.replies import Facts, check_alive, error_of, facts_of
from backends.redis.wire.resp import ErrorReply
from backends.redis.wire.url import Address

DIAL_SECONDS = 1.0
"""Longer than the deadline of a call, because no call waits for dialing beyond its own deadline."""


class Access(Struct, frozen=True):
    """Credentials, TLS and database of connections to a server."""

    user: str
    password: str
    database: int
    tls: ssl.SSLContext | None

    def __repr__(self) -> str:
        return "Access(...)"


Inspection = Callable[[Connection, Address], Awaitable[None]]
"""A check of a server before it is used. Raises BackendError if it must not be used."""


async def dial(address: Address, access: Access, *inspections: Inspection) -> Connection:
    """Returns an authenticated connection to a server that answers. Raises BackendError."""
    connection = await _connect(address, access.tls)
    try:
        await _authenticate(connection, access)
        for inspect in inspections:
            await inspect(connection, address)
    except BaseException:
        connection.end("connecting failed")
        raise
    return connection


async def refuse_replica(connection: Connection, _address: Address) -> None:
    """Raises BackendUnavailable for a replica: it may lack writes that its master has acknowledged (D137)."""
    if (await _info(connection, "replication")).get(b"role") == b"slave":
        raise BackendUnavailable("the sentinels name a replica: it is no longer, or not yet, the master")


async def _connect(address: Address, tls: ssl.SSLContext | None) -> Connection:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(DIAL_SECONDS):
            _, connection = await loop.create_connection(Connection, address.host, address.port, ssl=tls)
    except TimeoutError:
        or_else = "" if tls is None else ", or does not speak TLS"
        raise BackendUnavailable(f"does not accept connections in time{or_else}") from None
    except ssl.SSLCertVerificationError:
        raise BackendMisconfigured("its certificate is not trusted, or is for another host") from None
    except ssl.SSLError:
        raise BackendMisconfigured("does not speak TLS, or only versions that this gateway refuses") from None
    except (gaierror, UnicodeError):  # UnicodeError: not a valid host name
        raise BackendUnavailable("its host name cannot be resolved") from None
    except OSError:
        raise BackendUnavailable("cannot be reached") from None
    return connection


async def _authenticate(connection: Connection, access: Access) -> None:
    commands = [pack("PING")]
    if access.database:
        commands.insert(0, pack("SELECT", access.database))
    if access.password:
        credentials = (access.user, access.password) if access.user else (access.password,)
        commands.insert(0, pack("AUTH", *credentials))
    try:
        *_, pong = await asyncio.gather(*(connection.send(command) for command in commands))
    except ErrorReply as reply:
        raise error_of(reply) from None
    except BackendUnavailable:
        if connection.fault != LOST:
            raise
        need = (
            "TLS (rediss://)"
            if access.tls is None
            else "a client certificate that it trusts (tls-auth-clients)"
        )
        raise BackendUnavailable(f"closes the connection before it answers; may require {need}") from None
    check_alive(pong)


async def _info(connection: Connection, section: str) -> Facts:
    """Returns a section of INFO; nothing if this user lacks the right to it."""
    try:
        info = await connection.send(pack("INFO", section))
    except ErrorReply:
        return {}
    return facts_of(info)
