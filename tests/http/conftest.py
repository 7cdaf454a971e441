"""The edge is tested on both event loops: the one it is deployed on, and the standard library's."""

import asyncio

import uvloop


def pytest_asyncio_loop_factories(config, item):
    return {"uvloop": uvloop.new_event_loop, "asyncio": asyncio.new_event_loop}
