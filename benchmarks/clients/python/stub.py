"""A server that answers every request alike, or none: a program of its own that prints its port."""

import asyncio
import sys

ANSWER = b'{"found":true,"value":{"text":"hello"},"expiresAt":null}'
RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (
    len(ANSWER),
    ANSWER,
)


class Stub(asyncio.Protocol):
    """Bodies end with a brace, and no head has one."""

    is_silent = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if data.endswith(b"}") and not self.is_silent:
            self._transport.write(RESPONSE)


async def main() -> None:
    Stub.is_silent = "silent" in sys.argv
    server = await asyncio.get_running_loop().create_server(Stub, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
