"""From an address to an open connection: TLS, credentials, database."""

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable
from socket import gaierror

import hiredis
from msgspec import Struct

from backends.errors import BackendMisconfigured, BackendUnavailable
from backends.redis.connection import LOST, Argument, Connection
from backends.redis.replies import fault_of
from backends.redis.url import Address

log = logging.getLogger("kvs.redis")

DIAL_SECONDS = 1.0
"""Longer than a call may take: calls do not wait for it, and a server that comes back answers at once."""


class Access(Struct, frozen=True):
    """How servers let this gateway in."""

    user: str
    password: str
    database: int
    tls: ssl.SSLContext | None

    def __repr__(self) -> str:
        return "Access(...)"


Inspection = Callable[[Connection, Address], Awaitable[None]]
"""What is asked of a server before it is used. Raises BackendError if it is none to use."""


async def dial(address: Address, access: Access, *inspections: Inspection) -> Connection:
    """An authenticated connection to a server that serves. Raises BackendError."""
    connection = await _connect(address, access.tls)
    try:
        await _introduce(connection, access)
        for inspect in inspections:
            await inspect(connection, address)
    except BaseException:
        connection.end("it does not let this gateway in")
        raise
    return connection


async def refuse_replica(connection: Connection, _address: Address) -> None:
    """Sentinels may still name the master that was: what it would answer is no longer what was written."""
    if (await _facts(connection, "replication")).get(b"role") == b"slave":
        raise BackendUnavailable("the sentinels name a replica, which is the master no longer or not yet")


async def warn_of_eviction(connection: Connection, address: Address) -> None:
    """Counters carry a time to live, so every policy but one may drop them and admit more than the limit."""
    facts = await _facts(connection, "memory")
    policy = facts.get(b"maxmemory_policy", b"noeviction").decode()
    if policy != "noeviction" and facts.get(b"maxmemory") != b"0":
        log.warning(
            "redis may evict counters and entries: maxmemory-policy should be noeviction",
            extra={"fields": {"server": str(address), "policy": policy}},
        )


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
        raise BackendMisconfigured("does not speak TLS, or not as this gateway does") from None
    except (gaierror, UnicodeError):  # the latter for what cannot be the name of a host
        raise BackendUnavailable("has a host name that nobody knows") from None
    except OSError:
        raise BackendUnavailable("cannot be reached") from None
    return connection


async def _introduce(connection: Connection, access: Access) -> None:
    commands: list[tuple[Argument, ...]] = [("PING",)]
    if access.database:
        commands.insert(0, ("SELECT", access.database))
    if access.password:
        credentials = (access.user, access.password) if access.user else (access.password,)
        commands.insert(0, ("AUTH", *credentials))
    try:
        replies = await asyncio.gather(*(connection.send(*command) for command in commands))
    except BackendUnavailable:
        if connection.fault != LOST:
            raise
        wish = "TLS (rediss://)" if access.tls is None else "a certificate of its client (tls-auth-clients)"
        raise BackendUnavailable(f"hangs up before it answers, may want {wish}") from None
    for reply in replies:
        if isinstance(reply, hiredis.ReplyError):
            raise fault_of(reply)


async def _facts(connection: Connection, section: str) -> dict[bytes, bytes]:
    """What the server tells about itself; nothing if this user may not ask."""
    info = await connection.send("INFO", section)
    if not isinstance(info, bytes):
        return {}
    return dict(line.split(b":", 1) for line in info.splitlines() if b":" in line)
