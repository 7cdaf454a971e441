"""The backlog of a listener that closes."""

import socket
from contextlib import ExitStack

from gateway.http import listener as listening


def test_no_more_connections_are_accepted_than_the_backlog_holds(monkeypatch):
    monkeypatch.setattr(listening, "_BACKLOG", 2)
    with ExitStack() as opened, socket.create_server(("127.0.0.1", 0), backlog=16) as queue:
        for _ in range(5):
            opened.enter_context(socket.create_connection(queue.getsockname()))
        taken = [opened.enter_context(each) for each in listening._accept_waiting(queue)]
        assert len(taken) == 3
