"""HTTP is tested on both event loops: the one it is deployed on, and the standard library's."""

import asyncio

import pytest
import uvloop

from gateway.http.state import UnknownTransition
from tests.support.virtual_time import VirtualTimeLoop


def pytest_asyncio_loop_factories(config, item):
    """Returns both loops; one is enough with a virtual clock, or if the gateway is a process of its own."""
    if item.get_closest_marker("virtual_time"):
        return {"asyncio": VirtualTimeLoop}
    if getattr(item.module, "GATEWAY_IS_A_PROCESS", False):
        return {"asyncio": asyncio.new_event_loop}
    if getattr(item.module, "LOOP_MAKES_NO_DIFFERENCE", False):  # log lines, and input of the parser
        return {"uvloop": uvloop.new_event_loop}
    return {"uvloop": uvloop.new_event_loop, "asyncio": asyncio.new_event_loop}


@pytest.fixture(autouse=True)
def unknown_transitions(monkeypatch):
    """Fails a test in which a connection saw an event that its state does not know."""
    seen: list[tuple[object, ...]] = []
    made = UnknownTransition.__init__

    def record(self, state, event):
        seen.append((state, event))
        made(self, state, event)

    monkeypatch.setattr(UnknownTransition, "__init__", record)
    yield seen
    assert seen == []
