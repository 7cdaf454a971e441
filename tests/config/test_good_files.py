"""Good files: the keys that they may leave out, and the settings that result."""

from pathlib import Path

import pytest

from gateway.config.loading import load, parse
from gateway.config.settings import Settings

GOOD = Path(__file__).with_name("good")


def _load(name: str, **environ: str) -> Settings:
    return load(GOOD / f"{name}.yaml", environ)


@pytest.mark.parametrize("file", sorted(GOOD.glob("*.yaml")), ids=lambda file: file.stem)
def test_a_good_file_loads_with_an_empty_environment(file):
    assert isinstance(load(file, {}), Settings)


def test_the_region_alone_is_a_configuration():
    assert _load("minimal") == Settings(region="x")


def test_without_a_file_to_the_contrary_every_listener_is_on_loopback():
    listen = _load("minimal").listen
    assert [(each.host, each.port) for each in (listen.data, listen.ops, listen.control)] == [
        ("127.0.0.1", 8080),
        ("127.0.0.1", 9090),
        ("127.0.0.1", 8081),
    ]


def test_the_defaults_are_the_numbers_of_the_specification():
    settings = _load("minimal")
    limits = settings.limits
    assert (limits.body_bytes, limits.key_bytes, limits.value_bytes) == (131_072, 512, 65_536)
    assert (limits.min_ttl_seconds, limits.max_ttl_seconds) == (60, 31_536_000)
    assert (limits.default_ttl_seconds, limits.app_bytes) == (None, None)
    assert settings.rate_limit.requests_per_minute == 600
    assert settings.directory.max_tables == 3


def test_every_value_of_a_full_file_arrives():
    settings = _load("everything")
    assert settings.listen.data.tls.key == "tests/config/good/tls.pem"
    assert settings.listen.control.tls.key == "tests/config/good/tls.pem"
    assert settings.signature.credentials.trusted_proxy.networks == ["10.0.0.0/8", "fd00::/8"]
    assert settings.signature.credentials.session.max_ttl_seconds == 900
    assert settings.limits.default_ttl_seconds == 3600
    assert (settings.limits.app_bytes, settings.apps[0].max_bytes) == (1_073_741_824, 4096)
    assert settings.store.max_bytes == 1_000_000
    assert settings.counters.prefix == "team:kvs"
    assert settings.directory.cache_ttl_seconds == 0.5
    assert [app.type for app in settings.apps] == ["web-ssr", "web"]
    assert settings.apps[0].tables[0].minute_limit == 60
    assert settings.readiness == "strict"


@pytest.mark.parametrize("mode", ["off", "'off'", '"off"', "Off", "OFF", "'${MODE:-off}'"])
def test_signature_mode_off_works_quoted_and_unquoted(mode):
    assert parse(f"region: x\nsignature: {{mode: {mode}}}", {}).signature.mode == "off"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.10", "::1", "localhost"])
def test_signature_mode_off_needs_no_permission_on_a_loopback_listener(host):
    text = f"region: x\nsignature: {{mode: off}}\nlisten: {{data: {{host: '{host}'}}}}"
    assert parse(text, {}).signature.mode == "off"


def test_signature_mode_off_may_be_public_if_the_file_says_so():
    assert _load("signature_off_on_a_public_listener").signature.allow_public is True


def test_a_mapping_may_be_shared_by_an_anchor():
    listen = _load("shared_by_an_anchor").listen
    assert (listen.ops.host, listen.ops.port) == ("0.0.0.0", 9090)


def test_an_app_of_a_type_that_is_not_served_may_be_declared_with_its_tables():
    text = "region: x\napps: [{org: a, app: b, type: web, tables: [{name: t, token: some-token}]}]"
    assert parse(text, {}).apps[0].tables[0].name == "t"


def test_three_free_ports_are_not_one_port():
    text = "region: x\nlisten: {data: {port: 0}, ops: {port: 0}, control: {port: 0}}"
    assert parse(text, {}).listen.ops.port == 0


def test_one_port_on_two_addresses_is_not_a_contradiction():
    text = "region: x\nlisten: {ops: {host: 127.0.0.2, port: 8080}}"
    assert parse(text, {}).listen.ops.port == 8080


def test_the_command_lines_variable_is_the_control_token_where_none_is_configured():
    assert parse("region: x", {"KVS_CONTROL_TOKEN": "control-token-from-outside"}).control.tokens == [
        "control-token-from-outside"
    ]


def test_a_configured_control_token_is_not_replaced_by_the_command_lines_variable():
    text = "region: x\ncontrol: {tokens: [a-configured-token]}"
    assert parse(text, {"KVS_CONTROL_TOKEN": "control-token-from-outside"}).control.tokens == [
        "a-configured-token"
    ]
