"""Stack traces with local variables show no secrets."""

import asyncio
import signal
import socket
import threading
import traceback

import pytest
from botocore.credentials import Credentials
from kvs_client import Client, Configuration
from kvs_client.aio import AsyncClient

SIGNED = ("kvs_hidden", "hidden-session", "hidden-secret", "Signature=")


class Interrupted(Exception):
    """Raised by a worker's signal handler when a task takes too long."""


@pytest.fixture
def silent():
    """A server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


def made(kind, listener):
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    configuration = Configuration(url, "eu-central-1", "kvs_hidden")
    return kind(
        configuration, find_credentials=lambda: Credentials("AKID", "hidden-secret", "hidden-session")
    )


def show(error):
    report = traceback.TracebackException.from_exception(error, capture_locals=True)
    own = [frame for frame in report.stack if "/tests/" not in frame.filename]
    assert own
    return "".join(f"{frame.name} {frame.locals}" for frame in own) + str(report.__context__)


def test_stack_of_an_interrupted_call_shows_no_secrets(silent):
    def interrupt(*_):
        raise Interrupted

    def wait_and_signal():
        connection, _ = silent.accept()
        with connection:
            connection.recv(1)
            signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
            stopped.wait()

    before = signal.signal(signal.SIGUSR1, interrupt)
    stopped = threading.Event()
    thread = threading.Thread(target=wait_and_signal)
    thread.start()
    try:
        with made(Client, silent) as client, pytest.raises(Interrupted) as caught:
            client.get("k")
    finally:
        stopped.set()
        thread.join()
        signal.signal(signal.SIGUSR1, before)
    assert not any(text in show(caught.value) for text in SIGNED)


async def test_stack_of_a_cancelled_task_shows_no_secrets(silent):
    silent.settimeout(0)
    async with made(AsyncClient, silent) as client:
        call = asyncio.ensure_future(client.get("k"))
        connection, _ = await asyncio.get_running_loop().sock_accept(silent)
        with connection:
            await asyncio.get_running_loop().sock_recv(connection, 1)
            call.cancel()
            with pytest.raises(asyncio.CancelledError) as caught:
                await call
    assert not any(text in show(caught.value) for text in SIGNED)
