"""A forked process uses no connection, lock or credentials of its parent."""

import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

PATIENCE_SECONDS = 120
BEGINNING = """
import asyncio, os, sys, threading
from botocore.credentials import Credentials
from kvs_client import Client, Configuration, Options
from kvs_client.aio import AsyncClient

place = Configuration(sys.argv[1], "eu-central-1", "token")
options = Options(connections=1, deadline_seconds=60, attempt_seconds=60)

def demand_that_the_child(succeeds):
    child = os.fork()
    if child == 0:
        try:
            succeeds()
            os._exit(0)
        except BaseException as error:
            print(repr(error), flush=True)
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
"""
OWN_CONNECTION = """
client = Client(place, options, find_credentials=lambda: Credentials("AKID", "secret"))
assert client.get("parent").value == "parent"
def get():
    assert client.with_prefix("").get("child").value == "child"
demand_that_the_child(get)
assert client.get("parent").value == "parent"
"""
OWN_TURN = """
client = Client(place, options, find_credentials=lambda: Credentials("AKID", "secret"))
held = threading.Thread(target=client.get_or_set, args=("held", None), daemon=True)
held.start()
sys.stdin.readline()
def get():
    assert client.get_or_set("held", None) == "held"
    assert client.get("child").value == "child"
demand_that_the_child(get)
held.join()
"""
OWN_CREDENTIALS = """
may_end = threading.Event()
def find():
    if os.getpid() == parent:
        may_end.wait()
    return Credentials("AKID", "secret")
parent = os.getpid()
client = Client(place, options, find_credentials=find)
waiting = threading.Thread(target=client.get, args=("parent",), daemon=True)
waiting.start()
def get():
    assert client.get("child").value == "child"
demand_that_the_child(get)
may_end.set()
waiting.join()
"""
OWN_SESSION = """
client = AsyncClient(place, options, find_credentials=lambda: Credentials("AKID", "secret"))
async def get(key):
    assert (await client.get(key)).value == key
async def parent():
    await get("parent")
    demand_that_the_child(lambda: threading.Thread(target=asyncio.run, args=(get("child"),)).run())
    await get("parent")
asyncio.run(parent())
"""


class Echo(BaseHTTPRequestHandler):
    """Answers with the key as the value; answers `held` only after the child made its call."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        key = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["key"]
        self.server.came.append((key, self.client_address))
        if key == "held" and not self.server.held.is_set():
            self.server.held.set()
            self.server.child_came.wait(PATIENCE_SECONDS)
        if key == "child":
            self.server.child_came.set()
        answer = json.dumps({"found": True, "value": key, "expiresAt": None}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Echo)
        self.came = []
        self.held, self.child_came = threading.Event(), threading.Event()


@pytest.fixture
def server():
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("program", [OWN_CONNECTION, OWN_TURN, OWN_CREDENTIALS, OWN_SESSION])
def test_forked_process_uses_nothing_of_its_parent(program, server):
    address = f"http://127.0.0.1:{server.server_port}"
    with subprocess.Popen(
        [sys.executable, "-c", BEGINNING + program, address],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    ) as process:  # fmt: skip
        if program is OWN_TURN:
            assert server.held.wait(PATIENCE_SECONDS)
        output, _ = process.communicate("go\n")
        assert process.returncode == 0, output
    peers = {key: {address for name, address in server.came if name == key} for key, _ in server.came}
    assert len(peers["child"]) == 1
    assert peers["child"].isdisjoint(peers.get("parent", set()))
