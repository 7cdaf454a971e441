"""The servers of the Redis tests behave as those tests assume."""

import socket
import ssl

import pytest

from tests.support.ports import free_port
from tests.support.redis import RedisServer, TlsServer
from tests.support.redis.resp import ErrorReply
from tests.support.servers import process_exists
from tests.support.stopwatch import PATIENCE_SECONDS


def test_a_killed_server_comes_back_on_its_port_without_its_data():
    with RedisServer() as server:
        server.command("SET", "key", "value")
        port, pid = server.port, server.pid
        server.kill()
        with pytest.raises(ConnectionRefusedError):
            server.command("PING")
        server.start()
        assert (server.port, server.command("GET", "key")) == (port, None)
        assert server.pid != pid


def test_a_killed_server_that_appends_to_a_file_comes_back_with_its_data():
    with RedisServer(appendonly="yes", appendfsync="always") as server:
        server.command("SET", "key", "value")
        server.kill()
        server.start()
        assert server.command("GET", "key") == b"value"


def test_a_stopped_server_takes_connections_and_answers_only_when_it_is_resumed():
    with RedisServer() as server:
        server.stop()
        with socket.create_connection(("127.0.0.1", server.port), timeout=0.1) as connection:
            connection.sendall(b"PING\r\n")
            with pytest.raises(TimeoutError):
                connection.recv(100)
            server.resume()
            connection.settimeout(PATIENCE_SECONDS)
            assert connection.recv(100) == b"+PONG\r\n"


@pytest.mark.parametrize("state", ["running", "stopped", "killed"])
def test_a_failed_test_leaves_nothing_of_its_server(state):
    def fail():
        with server:
            pids.append(server.pid)
            if state == "stopped":
                server.stop()
            if state == "killed":
                server.kill()
            raise LookupError

    server, pids = RedisServer(), []
    with pytest.raises(LookupError):
        fail()
    assert not process_exists(pids[0])
    assert not server.directory.exists()


def test_a_server_that_cannot_start_says_why_and_leaves_nothing():
    server = RedisServer(no_such_directive=1)
    with pytest.raises(RuntimeError, match="no-such-directive"), server:
        pass
    assert not server.directory.exists()


def test_a_server_that_loses_the_race_for_its_port_takes_another():
    with RedisServer() as first:
        second = RedisServer()
        second.port = first.port
        second._write_configuration()
        with second:
            assert second.port != first.port
            assert first.command("PING") == second.command("PING") == b"PONG"


def test_free_ports_leave_room_for_a_cluster_bus():
    assert free_port() + 10_000 < 32_768


def test_a_server_with_a_password_names_it_in_its_url():
    with RedisServer(requirepass="secret") as server:
        assert server.url == f"redis://:secret@127.0.0.1:{server.port}/0"
        assert server.command("PING") == b"PONG"


def test_a_server_follows_its_directives():
    with (
        RedisServer(maxmemory=1, maxmemory_policy="noeviction") as server,
        pytest.raises(ErrorReply, match="OOM"),
    ):
        server.command("SET", "key", "value")


def test_a_tls_server_lets_its_user_touch_the_gateways_keys_only():
    with TlsServer() as server:
        trust = ssl.create_default_context(cafile=server.ca_file)
        with (
            socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_SECONDS) as plain,
            trust.wrap_socket(plain, server_hostname="localhost") as secured,
        ):
            replies = []
            for line in ("GET kvs", "AUTH gateway correct-horse", "SET kvs:1 x", "SET other x", "FLUSHALL"):
                secured.sendall(f"{line}\r\n".encode())
                replies.append(secured.recv(200).split()[0])
        assert replies == [b"-NOAUTH", b"+OK", b"+OK", b"-NOPERM", b"-NOPERM"]
        assert server.command("KEYS", "*") == [b"kvs:1"]


def test_a_tls_server_comes_back_with_the_same_certificate():
    with TlsServer() as server:
        before = server.ca_file.read_bytes()
        server.kill()
        server.start()
        assert server.ca_file.read_bytes() == before
        assert server.command("PING") == b"PONG"
