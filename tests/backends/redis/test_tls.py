"""TLS and credentials: a refusal has the right class of error and names its reason, but no secret."""

import asyncio
import logging
import traceback
from contextlib import ExitStack
from types import SimpleNamespace
from urllib.parse import quote

import pytest
import trustme
from msgspec.structs import replace

from backends import RedisSettings, open_backend
from backends.backend import StoreWarning
from backends.clock import SystemClock
from backends.errors import BackendMisconfigured, BackendUnavailable
from backends.redis.settings import SentinelSettings
from backends.redis.topology import server
from tests.backends.redis.conformance import opened_redis
from tests.support import entries
from tests.support.entries import Entry
from tests.support.outcomes import fault_of
from tests.support.ports import HOST
from tests.support.redis import RedisServer, TlsServer
from tests.support.redis.observer import Observer
from tests.support.redis.sentinel import MASTER_NAME
from tests.support.redis.tls import PASSWORD, USER
from tests.support.servers import wait_for
from tests.support.stopwatch import PATIENCE_SECONDS, Stopwatch
from tests.support.store_traffic import TABLE
from tests.support.stores import first_answer

RUNS_ON_UVLOOP = True

SECRET = "s3cr3t"
NO_CERTIFICATE = (
    "closes the connection before it answers; "
    "may require a client certificate that it trusts (tls-auth-clients)"
)
REFUSAL_SECONDS = 0.3
ENTRY = Entry(b"1", None)


@pytest.fixture(scope="module")
def secured():
    with TlsServer() as server:
        yield server


@pytest.fixture(scope="module")
def tls_cluster():
    """A cluster of one node: TLS and credentials are the same for more nodes."""
    with TlsServer(cluster_enabled="yes", tls_cluster="yes", cluster_announce_ip=HOST) as node:
        node.command("CLUSTER", "ADDSLOTS", *range(16_384))
        wait_for(
            lambda: b"cluster_state:ok" in node.command("CLUSTER", "INFO"), "the cluster is not in order"
        )
        yield node


@pytest.fixture(scope="module")
def servers(secured, tls_cluster):
    with RedisServer() as plain, RedisServer(requirepass=SECRET) as locked:
        yield SimpleNamespace(secured=secured, tls_cluster=tls_cluster, plain=plain, locked=locked)


@pytest.fixture(scope="module")
def stranger(tmp_path_factory):
    """The certificate of an authority that has signed no certificate here."""
    file = tmp_path_factory.mktemp("stranger") / "ca.pem"
    trustme.CA().cert_pem.write_to_path(str(file))
    return file


@pytest.fixture(autouse=True)
def log(caplog):
    caplog.set_level(logging.DEBUG)
    yield caplog
    for record in caplog.records:
        shown = logging.Formatter().format(record) + repr(vars(record))
        assert SECRET not in shown
        assert PASSWORD not in shown


async def _refusal_of(settings, *servers):
    """Returns the error of three calls of a new store, each of which fails in time."""
    store = await open_backend(settings, SystemClock())
    try:
        for _ in range(3):
            watch = Stopwatch(*(server.pid for server in servers))
            with pytest.raises((BackendMisconfigured, BackendUnavailable)) as caught:
                await entries.put(store, TABLE, "k", ENTRY)
            assert watch.seconds < REFUSAL_SECONDS
    finally:
        await store.close()
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert SECRET not in shown
    assert PASSWORD not in shown
    return caught.value


def _tls(url, server):
    return RedisSettings(url=url, ca_file=str(server.ca_file))


def _as_cluster(url):
    return url.replace("rediss://", "rediss+cluster://").removesuffix("/0")


REFUSALS = {
    "a wrong password": (
        lambda s: _tls(s.secured.url.replace(PASSWORD, SECRET), s.secured),
        "rejects user and password (WRONGPASS)",
    ),
    "a wrong password, without users": (
        lambda s: RedisSettings(url=s.locked.url.replace(SECRET, PASSWORD)),
        "rejects user and password (WRONGPASS)",
    ),
    "a wrong password, in a cluster": (
        lambda s: _tls(_as_cluster(s.tls_cluster.url).replace(PASSWORD, SECRET), s.tls_cluster),
        "rejects user and password (WRONGPASS)",
    ),
    "no password": (
        lambda s: _tls(f"rediss://{HOST}:{s.secured.port}", s.secured),
        "requires a password (NOAUTH)",
    ),
    "no password, without users": (
        lambda s: RedisSettings(url=f"redis://{HOST}:{s.locked.port}"),
        "requires a password (NOAUTH)",
    ),
    "no password, in a cluster": (
        lambda s: _tls(f"rediss+cluster://{HOST}:{s.tls_cluster.port}", s.tls_cluster),
        "requires a password (NOAUTH)",
    ),
    "a password where none is asked for": (
        lambda s: RedisSettings(url=f"redis://:{SECRET}@{HOST}:{s.plain.port}"),
        "has no password set, but was sent one",
    ),
    "a user without permission": (
        lambda s: RedisSettings(url=s.secured.url, ca_file=str(s.secured.ca_file), prefix="elsewhere"),
        "denies this command to the user (NOPERM)",
    ),
    "a database that a cluster does not have": (
        lambda s: _tls(s.tls_cluster.url.replace("/0", "/1"), s.tls_cluster),
        "is part of a cluster: use a redis+cluster:// URL",
    ),
    "an authority that the system does not know": (
        lambda s: RedisSettings(url=s.secured.url),
        "its certificate is not trusted, or is for another host",
    ),
    "an authority that the system does not know, in a cluster": (
        lambda s: RedisSettings(url=_as_cluster(s.tls_cluster.url)),
        "its certificate is not trusted, or is for another host",
    ),
    "a certificate for another name of the host": (
        lambda s: _tls(s.secured.url.replace(HOST, "127.1"), s.secured),
        "its certificate is not trusted, or is for another host",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
async def test_a_refused_connection_gives_the_reason(servers, case, log):
    settings, reason = REFUSALS[case]
    fault = await _refusal_of(settings(servers), *vars(servers).values())
    assert (type(fault), str(fault)) == (BackendMisconfigured, reason)
    if "NOPERM" not in reason:  # that is about a call, not about the connection
        (line,) = (record for record in log.records if record.name == "kvs.redis")
        assert (line.levelno, line.fields["reason"]) == (logging.WARNING, reason)


async def test_another_authority_is_not_trusted(secured, stranger):
    fault = await _refusal_of(RedisSettings(url=secured.url, ca_file=str(stranger)), secured)
    assert (type(fault), str(fault)) == (
        BackendMisconfigured,
        "its certificate is not trusted, or is for another host",
    )


async def test_a_server_that_requires_tls_is_distinguished_from_a_dead_one(secured):
    fault = await _refusal_of(RedisSettings(url=secured.url.replace("rediss", "redis")), secured)
    assert str(fault) == "closes the connection before it answers; may require TLS (rediss://)"


async def test_a_server_without_tls_is_distinguished_from_a_dead_one(servers, stranger, log, monkeypatch):
    """The server sends nothing, so the deadline ends the wait."""
    monkeypatch.setattr(server, "DEADLINE_SECONDS", 0.25)
    url = f"rediss://:{SECRET}@{HOST}:{servers.plain.port}"
    store = await open_backend(RedisSettings(url=url, ca_file=str(stranger)), SystemClock())
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not any("does not speak TLS" in str(record.fields) for record in log.records):
                watch = Stopwatch(servers.plain.pid)
                with pytest.raises((BackendUnavailable, BackendMisconfigured)):
                    await entries.get(store, TABLE, "k")
                assert watch.seconds < REFUSAL_SECONDS
                await asyncio.sleep(0.02)
    finally:
        await store.close()


async def test_a_missing_client_certificate_is_named():
    with TlsServer() as server:
        server.command("CONFIG", "SET", "tls-auth-clients", "yes")
        fault = await _refusal_of(_tls(server.url, server), server)
    assert str(fault) == NO_CERTIFICATE


async def test_a_client_certificate_is_presented(tmp_path):
    with TlsServer() as server, TlsServer() as stranger:
        server.command("CONFIG", "SET", "tls-auth-clients", "yes")
        trusted = {"ca_file": str(server.ca_file), **server.client_files()}
        async with opened_redis(server.url, **trusted) as store:
            await entries.put(store, TABLE, "k", ENTRY)
        settings = RedisSettings(url=server.url, **trusted | stranger.client_files())
        assert str(await _refusal_of(settings, server)) == NO_CERTIFICATE


async def test_another_client_certificate_is_used_from_the_next_connection_on():
    with TlsServer() as server, TlsServer() as stranger:
        server.command("CONFIG", "SET", "tls-auth-clients", "yes")
        trusted = RedisSettings(url=server.url, ca_file=str(server.ca_file), **server.client_files())
        store = await open_backend(replace(trusted, **stranger.client_files()), SystemClock())
        try:
            assert isinstance(await fault_of(store.ping()), BackendUnavailable)
            assert store.apply(trusted)
            await first_answer(store)
        finally:
            await store.close()


class _LockedSentinel(RedisServer):
    """A sentinel with a password, and a user who has the right to ask for the master alone."""

    arguments = ("--sentinel",)

    def __init__(self):
        super().__init__(
            requirepass=PASSWORD,
            user=f"{USER} on >{PASSWORD} -@all +auth +ping +sentinel|get-master-addr-by-name",
        )

    def _configuration(self):
        directives = super()._configuration()
        return {name: value for name, value in directives.items() if name != "save"}


@pytest.fixture(scope="module")
def locked_region(servers):
    """Three sentinels that require a password, and a master that requires another one."""
    with ExitStack() as stack:
        sentinels = [stack.enter_context(_LockedSentinel()) for _ in range(3)]
        for sentinel in sentinels:
            sentinel.command("SENTINEL", "MONITOR", MASTER_NAME, HOST, servers.locked.port, 2)
            sentinel.command("SENTINEL", "SET", MASTER_NAME, "auth-pass", SECRET)
        hosts = ",".join(f"{HOST}:{sentinel.port}" for sentinel in sentinels)
        yield f"redis+sentinel://:{SECRET}@{hosts}/{MASTER_NAME}"


@pytest.mark.parametrize("username", [None, USER])
async def test_sentinels_have_their_own_user_and_password(locked_region, username):
    access = SentinelSettings(username=username, password=PASSWORD)
    async with opened_redis(locked_region, sentinel=access) as store:
        await entries.put(store, TABLE, "k", ENTRY)
        assert await entries.get(store, TABLE, "k") == ENTRY


@pytest.mark.parametrize(
    ("server_password", "sentinel", "reason"),
    [
        (SECRET, None, "a sentinel: requires a password (NOAUTH)"),
        (
            SECRET,
            SentinelSettings(password="wrong"),
            "a sentinel: rejects user and password (WRONGPASS)",
        ),
        (
            "wrong",
            SentinelSettings(password=PASSWORD),
            "the master: rejects user and password (WRONGPASS)",
        ),
    ],
    ids=["no password for sentinels", "a wrong one for sentinels", "a wrong one for the master"],
)
async def test_the_reason_names_the_refusing_server(locked_region, server_password, sentinel, reason):
    url = locked_region.replace(SECRET, server_password)
    store = await open_backend(RedisSettings(url=url, sentinel=sentinel), SystemClock())
    try:
        fault = await fault_of(store.ping())
        while not isinstance(fault, BackendMisconfigured):
            await asyncio.sleep(0.02)
            fault = await fault_of(store.ping())
    finally:
        await store.close()
    assert str(fault) == reason


async def test_a_changed_sentinel_password_is_used_without_a_restart(locked_region):
    wrong = RedisSettings(url=locked_region, sentinel=SentinelSettings(password="wrong"))
    store = await open_backend(wrong, SystemClock())
    try:
        assert await fault_of(store.ping())
        assert store.apply(replace(wrong, sentinel=SentinelSettings(password=PASSWORD)))
        await first_answer(store)
    finally:
        await store.close()


def test_repr_of_settings_shows_no_secret():
    settings = RedisSettings(url="redis+sentinel://h/m", sentinel=SentinelSettings(password=SECRET))
    assert SECRET not in repr(settings) + repr(settings.sentinel)


@pytest.mark.parametrize(
    "password", ["p@ss:w/rd", "100%", "%41", "a+b c", "#?&=;,[]", "pässwörd", "\U0001f511"]
)
async def test_percent_encoded_credentials_may_contain_anything(secured, password):
    user = "tänant:@/%"
    secured.command("ACL", "SETUSER", user, "reset", "on", f">{password}", "~kvs*", "+@all")
    login = f"{quote(user, safe='')}:{quote(password, safe='')}"
    async with opened_redis(
        f"rediss://{login}@localhost:{secured.port}/3", ca_file=str(secured.ca_file)
    ) as store:
        await entries.put(store, TABLE, "k", ENTRY)
        assert await entries.get(store, TABLE, "k") == ENTRY


async def test_a_password_corrected_at_the_server_needs_no_restart(secured):
    secured.command("ACL", "SETUSER", USER, f"<{PASSWORD}", ">changed")
    store = await open_backend(_tls(secured.url, secured), SystemClock())
    try:
        for _ in range(20):  # the circuit breaker is for servers that do not answer
            with pytest.raises(BackendMisconfigured):
                await store.ping()
        secured.command("ACL", "SETUSER", USER, f">{PASSWORD}")
        async with asyncio.timeout(PATIENCE_SECONDS):
            while await _is_refused(store):  # noqa: ASYNC110 - as a readiness check asks
                await asyncio.sleep(0.02)
    finally:
        await store.close()


async def _is_refused(store):
    try:
        await store.ping()
    except BackendMisconfigured:
        return True
    return False


async def test_a_named_user_with_the_documented_rights_can_use_every_port(secured):
    large = Entry(b"x" * 65_536, SystemClock().wall_ms() + 60_000)
    secured.command("FLUSHALL")
    async with opened_redis(secured.url, ca_file=str(secured.ca_file)) as store:
        await entries.put(store, TABLE, "k", ENTRY)
        await entries.put(store, TABLE, "large", large)
        assert await asyncio.gather(*(entries.get(store, TABLE, "large") for _ in range(50))) == [large] * 50
        await entries.delete(store, TABLE, "large")
        await entries.drop(store, TABLE)
        assert await entries.get(store, TABLE, "k") is None
        assert [(await store.counters.charge("b", 1, 60_000)).admitted for _ in "12"] == [True, False]
        assert await store.records.swap("a", b"1", None)
        record = await store.records.read("a")
        position = (await store.records.changes(None)).position
        assert await store.records.swap("a", b"2", record.version)
        assert (await store.records.changes(position)).names == ("a",)
        secured.command("DEL", "kvs:names:{kvs:records}")  # so that a page has to repair the index
        ((name, record),) = await store.records.page("", after="", limit=10)
        assert (name, record.document) == ("a", b"2")
        secured.command("ZADD", "kvs:names:{kvs:records}", 0, "b")
        assert len(await store.records.page("", after="", limit=10)) == 1
        assert await store.records.swap("a", None, record.version)
        await store.ping()
        assert StoreWarning.EVICTION in store.warnings


async def test_a_cluster_is_served_over_tls(tls_cluster):
    async with opened_redis(_as_cluster(tls_cluster.url), ca_file=str(tls_cluster.ca_file)) as store:
        await entries.put(store, TABLE, "k", ENTRY)
        assert await entries.get(store, TABLE, "k") == ENTRY


class _TlsSentinel(TlsServer):
    """A sentinel without a password that trusts only the authority of the master."""

    arguments = ("--sentinel",)

    def __init__(self, master):
        super().__init__()
        self._master = master

    def _configuration(self):
        directives = super()._configuration() | {
            "tls-replication": "yes",
            "tls-ca-cert-file": f'"{self._master.ca_file}"',
        }
        return {name: value for name, value in directives.items() if name not in ("save", "user")}

    def _observer(self):
        return Observer(self.port, (), super()._observer().tls)


async def test_sentinels_and_their_master_are_reached_over_tls(secured, stranger, tmp_path):
    with _TlsSentinel(secured) as sentinel:
        sentinel.command("SENTINEL", "MONITOR", MASTER_NAME, HOST, secured.port, 1)
        for option, value in (("auth-user", "observer"), ("auth-pass", "battery-staple")):
            sentinel.command("SENTINEL", "SET", MASTER_NAME, option, value)
        url = f"rediss+sentinel://{USER}:{PASSWORD}@{HOST}:{sentinel.port}/{MASTER_NAME}"
        both = tmp_path / "both.pem"
        both.write_bytes(secured.ca_file.read_bytes() + sentinel.ca_file.read_bytes())
        async with opened_redis(url, ca_file=str(both)) as store:
            await entries.put(store, TABLE, "k", ENTRY)
            assert await entries.get(store, TABLE, "k") == ENTRY
        fault = await _refusal_of(RedisSettings(url=url, ca_file=str(stranger)), secured, sentinel)
    assert "certificate" in str(fault)
