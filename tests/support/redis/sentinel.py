"""A master, two replicas, and three sentinels that monitor them."""

import contextlib
from typing import Self

from tests.support.ports import HOST
from tests.support.redis.binary import server_version
from tests.support.redis.server import REPLICATION, Directive, RedisServer, is_in_step, is_master
from tests.support.servers import wait_for

MASTER_NAME = "kvs-master"
QUORUM = 2
# In milliseconds; before Redis 7 they are 1 to 10 s and cannot be set, which only takes longer.
PERIODS = ("publish-period", 200, "ping-period", 200, "ask-period", 200, "info-period", 1_000)


class Sentinels:
    """A deployment, ready when all sentinels know each other and both replicas, and the replicas are in step.

    `servers` are the three data servers; any may be the master. Two sentinels can outvote the third.
    """

    def __init__(self, *, down_after_ms: int = 1_000, failover_timeout_ms: int = 3_000) -> None:
        self.servers: list[RedisServer] = []
        self.sentinels: list[RedisServer] = []
        self._watch = {"down-after-milliseconds": down_after_ms, "failover-timeout": failover_timeout_ms}
        self._processes = contextlib.ExitStack()

    @property
    def url(self) -> str:
        hosts = ",".join(f"{HOST}:{sentinel.port}" for sentinel in self.sentinels)
        return f"redis+sentinel://{hosts}/{MASTER_NAME}/0"

    def current_master(self) -> RedisServer:
        """Returns the master that the first running sentinel names, which may be outdated."""
        sentinel = next(each for each in self.sentinels if each.running)
        return self._named_by(sentinel)

    def kill_master(self) -> RedisServer:
        """Returns the server that was the master; `start` brings it back, soon to be a replica."""
        master = self.current_master()
        master.kill()
        return master

    def wait_until_settled(self) -> RedisServer:
        """Waits until all running sentinels agree on a running master that accepts writes; returns it."""
        wait_for(self._agree, "the sentinels do not agree on a master")
        return self.current_master()

    def __enter__(self) -> Self:
        with self._processes:
            self._start_servers()
            self._start_sentinels()
            wait_for(self._are_acquainted, "the sentinels do not find each other and the replicas")
            self._processes = self._processes.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._processes.close()

    def _start_servers(self) -> None:
        master = self._start(RedisServer(**REPLICATION))
        replicaof = f"{HOST} {master.port}"
        replicas = [self._start(RedisServer(replicaof=replicaof, **REPLICATION)) for _ in "12"]
        self.servers = [master, *replicas]
        wait_for(lambda: all(map(is_in_step, replicas)), "the replicas do not catch up")

    def _start_sentinels(self) -> None:
        self.sentinels = [self._start(_Sentinel()) for _ in "123"]
        for sentinel in self.sentinels:
            if server_version() >= (7,):
                sentinel.command("SENTINEL", "DEBUG", *PERIODS)
            sentinel.command("SENTINEL", "MONITOR", MASTER_NAME, HOST, self.servers[0].port, QUORUM)
            for option, value in self._watch.items():
                sentinel.command("SENTINEL", "SET", MASTER_NAME, option, value)

    def _start(self, server: RedisServer) -> RedisServer:
        return self._processes.enter_context(server)

    def _are_acquainted(self) -> bool:
        return all(
            len(sentinel.command("SENTINEL", "SENTINELS", MASTER_NAME)) == len(self.sentinels) - 1
            and len(sentinel.command("SENTINEL", "REPLICAS", MASTER_NAME)) == len(self.servers) - 1
            for sentinel in self.sentinels
        )

    def _agree(self) -> bool:
        named = {self._named_by(sentinel) for sentinel in self.sentinels if sentinel.running}
        if len(named) != 1:
            return False
        (master,) = named
        return master.running and is_master(master)

    def _named_by(self, sentinel: RedisServer) -> RedisServer:
        _, port = sentinel.command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", MASTER_NAME)
        return next(server for server in self.servers if server.port == int(port))


class _Sentinel(RedisServer):
    arguments = ("--sentinel",)

    def _configuration(self) -> dict[str, Directive]:
        data_server = super()._configuration()
        return {name: data_server[name] for name in data_server if name != "save"}
