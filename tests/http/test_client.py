"""Requests to other servers: informational responses are skipped, a flood of them is a failure."""

import asyncio
from contextlib import asynccontextmanager, suppress

import pytest

from gateway.http.client import FetchError, fetch

EARLY_HINTS = b"HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n"
FINAL = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


@asynccontextmanager
async def _server(*pieces: bytes):
    """Answers one connection with these pieces, and then waits for its end."""
    ended = asyncio.Event()

    async def answer(reader, writer):
        with suppress(ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
            await reader.read()
        writer.transport.abort()
        ended.set()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        await ended.wait()


@pytest.mark.parametrize("number", [0, 1, 15])
async def test_informational_responses_are_skipped(number):
    async with _server(EARLY_HINTS * number + FINAL) as url:
        assert await fetch(url, max_bytes=2) == b"{}"


@pytest.mark.parametrize("number", [16, 100_000])
async def test_flood_of_informational_responses_is_a_failure(number):
    async with _server(*[EARLY_HINTS] * 16, EARLY_HINTS * (number - 16), FINAL) as url:
        with pytest.raises(FetchError, match="does not answer"):
            await fetch(url, max_bytes=2)
