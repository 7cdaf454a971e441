"""Ports for servers that are killed and started again where they were."""

import secrets
import socket

HOST = "127.0.0.1"

# Both ranges lie below the ephemeral ports: while a server is down, no outgoing connection can take its port,
# nor can a client that tries to reach it connect to itself.
FIRST_PORT, LAST_PORT = 11_000, 21_999
CLUSTER_BUS = 10_000  # Redis: the bus listens that much higher


def free_port() -> int:
    """A port that is free now, and whose cluster bus is; who binds it must be ready to lose the race."""
    while True:
        port = FIRST_PORT + secrets.randbelow(LAST_PORT - FIRST_PORT + 1)
        if _is_free(port) and _is_free(port + CLUSTER_BUS):
            return port


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True
