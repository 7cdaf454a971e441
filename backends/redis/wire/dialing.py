"""From an address to an open connection: TLS, credentials, database, and what is asked before it is used."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from socket import gaierror

import hiredis
from msgspec import Struct

from backends.errors import BackendMisconfigured, BackendUnavailable
from backends.redis.wire.commands import pack
from backends.redis.wire.connection import LOST, Connection
from backends.redis.wire.replies import Facts, check_alive, error_of, facts_of
from backends.redis.wire.url import Address

DIAL_SECONDS = 1.0
"""Longer than a call may take: calls do not wait for it, and a server that comes back answers at once."""


class Access(Struct, frozen=True):
    """What authenticates this gateway to servers, and the database that it selects."""

    user: str
    password: str
    database: int
    tls: ssl.SSLContext | None

    def __repr__(self) -> str:
        return "Access(...)"


Inspection = Callable[[Connection, Address], Awaitable[None]]
"""What is asked of a server before it is used. Raises BackendError if it must not be used."""


async def dial(address: Address, access: Access, *inspections: Inspection) -> Connection:
    """An authenticated connection to a server that serves. Raises BackendError."""
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
    """Sentinels may still name the old master, whose data may be older than what was written since (D98)."""
    if (await _info(connection, "replication")).get(b"role") == b"slave":
        raise BackendUnavailable("the sentinels name a replica, which is the master no longer or not yet")


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
        raise BackendMisconfigured("does not speak TLS, or no version that this gateway speaks") from None
    except (gaierror, UnicodeError):  # the latter for what cannot be the name of a host
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
    except hiredis.ReplyError as reply:
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
    """A section of INFO; nothing if this user may not ask."""
    try:
        info = await connection.send(pack("INFO", section))
    except hiredis.ReplyError:
        return {}
    return facts_of(info)
