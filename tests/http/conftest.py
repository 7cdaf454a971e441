"""HTTP is tested on both event loops: the one it is deployed on, and the standard library's."""

import asyncio

import uvloop

from tests.support.virtual_time import VirtualTimeLoop


def pytest_asyncio_loop_factories(config, item):
    """Where clocks hurry there is one loop; and one is enough where the gateway runs in its own process."""
    if item.get_closest_marker("virtual_time"):
        return {"asyncio": VirtualTimeLoop}
    if getattr(item.module, "GATEWAY_IS_A_PROCESS", False):
        return {"asyncio": asyncio.new_event_loop}
    return {"uvloop": uvloop.new_event_loop, "asyncio": asyncio.new_event_loop}
