"""A listener shows its new certificate to those who connect after a reload."""

import asyncio
import ssl

import pytest
import trustme

from gateway.config.certificates import UnusableCertificate
from tests.replica.watched import watching


def cut_a_certificate(folder, key_type=trustme.KeyType.ECDSA):
    """A certificate of a new authority, written to where the configuration says; what trusts it."""
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1", key_type=key_type)
    certificate.private_key_pem.write_to_path(folder / "tls.key")
    certificate.cert_chain_pems[0].write_to_path(folder / "tls.crt")
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


def tls_in(folder, listener="data"):
    return {listener: {"tls": {"certificate": str(folder / "tls.crt"), "key": str(folder / "tls.key")}}}


async def connect(gateway, trust, listener="data"):
    host, port = getattr(gateway, listener).removeprefix("https://").split(":")
    return await asyncio.open_connection(host, int(port), ssl=trust)


async def answer(reader, writer) -> bytes:
    writer.write(b"POST /v1/get HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
    return await reader.readuntil(b"}")


async def test_a_new_certificate_is_shown_and_old_connections_continue(tmp_path):
    old = cut_a_certificate(tmp_path)
    async with watching(tmp_path, listen=tls_in(tmp_path)) as watched:
        kept = await connect(watched.gateway, old)
        new = cut_a_certificate(tmp_path)
        await watched.read_again()
        fresh = await connect(watched.gateway, new)
        with pytest.raises(ssl.SSLCertVerificationError):
            await connect(watched.gateway, old)
        assert b"missing_signature" in await answer(*kept)
        assert b"missing_signature" in await answer(*fresh)
        for _, writer in (kept, fresh):
            writer.close()


@pytest.mark.parametrize("kinds", [("ECDSA", "RSA"), ("RSA", "ECDSA")], ids=":".join)
async def test_nothing_is_left_of_a_certificate_with_another_kind_of_key(tmp_path, kinds):
    before, after = (trustme.KeyType[kind] for kind in kinds)
    old = cut_a_certificate(tmp_path, before)
    old.set_ciphers(f"ECDHE-{kinds[0]}-AES128-GCM-SHA256")
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    async with watching(tmp_path, listen=tls_in(tmp_path)) as watched:
        (await connect(watched.gateway, old))[1].close()
        new = cut_a_certificate(tmp_path, after)
        await watched.read_again()
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await connect(watched.gateway, old)
        (await connect(watched.gateway, new))[1].close()


async def test_the_control_listener_shows_a_certificate_of_its_own_and_the_new_one_after_a_reload(tmp_path):
    old = cut_a_certificate(tmp_path)
    async with watching(tmp_path, listen=tls_in(tmp_path, "control")) as watched:
        assert watched.gateway.data.startswith("http://")
        reader, writer = await connect(watched.gateway, old, "control")
        assert b"missing_token" in await answer(reader, writer)
        writer.close()
        new = cut_a_certificate(tmp_path)
        assert watched.file.look() != watched.file.marks
        await watched.read_again()
        with pytest.raises(ssl.SSLCertVerificationError):
            await connect(watched.gateway, old, "control")
        (await connect(watched.gateway, new, "control"))[1].close()


async def test_a_broken_certificate_of_the_control_listener_is_named_and_changes_nothing(tmp_path, caplog):
    trust = cut_a_certificate(tmp_path)
    async with watching(tmp_path, listen=tls_in(tmp_path, "control")) as watched:
        (tmp_path / "tls.crt").write_text("no certificate")
        await watched.read_again()
        (problems,) = [record.fields["problems"] for record in caplog.records if record.name == "kvs.reload"]
        assert [problem["path"] for problem in problems] == ["listen.control.tls"]
        (await connect(watched.gateway, trust, "control"))[1].close()


async def test_without_tls_nobody_is_answered_on_a_control_listener_that_speaks_it(tmp_path):
    cut_a_certificate(tmp_path)
    async with watching(tmp_path, listen=tls_in(tmp_path, "control")) as watched:
        host, port = watched.gateway.control.removeprefix("https://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"GET /v1/whoami HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\n\r\n")
        assert await reader.read() == b""
        writer.close()


@pytest.mark.parametrize("late", ["tls.key", "tls.crt"])
async def test_a_pair_of_which_half_is_read_too_early_changes_nothing(tmp_path, late):
    trust = cut_a_certificate(tmp_path)
    async with watching(tmp_path, listen=tls_in(tmp_path)) as watched:
        half = (tmp_path / late).read_bytes()
        cut_a_certificate(tmp_path)
        (tmp_path / late).write_bytes(half)
        with pytest.raises(UnusableCertificate):
            watched.gateway.app.replica._certificates["data"].read()
        (await connect(watched.gateway, trust))[1].close()


@pytest.mark.parametrize("broken", ["tls.key", "tls.crt"])
async def test_a_certificate_that_does_not_fit_its_key_changes_nothing(tmp_path, broken):
    trust = cut_a_certificate(tmp_path)
    async with watching(tmp_path, listen=tls_in(tmp_path)) as watched:
        right = (tmp_path / broken).read_bytes()
        (tmp_path / "elsewhere").mkdir()
        cut_a_certificate(tmp_path / "elsewhere")
        (tmp_path / broken).write_bytes((tmp_path / "elsewhere" / broken).read_bytes())
        await watched.read_again()
        metrics = await watched.gateway.metrics()
        assert metrics["kvs_config_last_reload_successful"] == 0
        reader, writer = await connect(watched.gateway, trust)
        assert b"missing_signature" in await answer(reader, writer)
        writer.close()
        (tmp_path / broken).write_bytes(right)
        assert watched.file.look() != watched.file.marks
        await watched.read_again()
        assert (await watched.gateway.metrics())["kvs_config_last_reload_successful"] == 1


async def test_the_certificate_in_use_is_watched_though_the_file_names_another(tmp_path):
    """Other paths need a restart; until then the old ones are what is shown."""
    cut_a_certificate(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    cut_a_certificate(tmp_path / "elsewhere")
    async with watching(tmp_path, listen=tls_in(tmp_path)) as watched:
        await watched.reload(listen=tls_in(tmp_path / "elsewhere"))
        new = cut_a_certificate(tmp_path)
        assert watched.file.look() != watched.file.marks
        await watched.read_again()
        (await connect(watched.gateway, new))[1].close()
