"""A bare aiohttp handler: reads the body, answers a constant. What any server on aiohttp can hope for."""

import asyncio
import sys

import uvloop
from aiohttp import web

BODY = b'{"ok":true}'


async def _answer(request: web.BaseRequest) -> web.StreamResponse:
    await request.read()
    return web.Response(body=BODY, content_type="application/json")


async def _serve(port: int) -> None:
    server = web.Server(_answer, access_log=None)
    await asyncio.get_running_loop().create_server(server, "127.0.0.1", port, backlog=4096)
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(_serve(int(sys.argv[1])))
