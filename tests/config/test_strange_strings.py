"""Strings that no path, host or header can be are reported as mistakes in the configuration."""

import pytest

from gateway.config.loading import parse
from gateway.config.problems import InvalidConfiguration

REGION = "region: eu-central-1\n"
NOT_UTF_8 = b"secret-\xff".decode("utf-8", "surrogateescape")
"""As Python shows a variable of the environment that is not UTF-8."""


def paths(text: str, environ: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(InvalidConfiguration) as refused:
        parse(REGION + text, environ or {})
    assert NOT_UTF_8 not in repr(refused.value.problems)
    return [problem.path for problem in refused.value.problems]


def test_a_certificate_whose_path_holds_a_nul_cannot_be_read():
    text = r'listen: {data: {tls: {certificate: "a\0", key: "b\0"}}}'
    assert paths(text) == ["listen.data.tls.certificate", "listen.data.tls.key"]


def test_an_authority_whose_path_holds_a_nul_cannot_be_read():
    assert paths(r'store: {kind: redis, url: "rediss://h", ca_file: "a\0"}') == ["store.ca_file"]


@pytest.mark.parametrize("host", [r"\0", "a b", "ä", "127.0.0.1/8"])
@pytest.mark.parametrize("listener", ["data", "ops", "control"])
def test_an_impossible_host_name_is_a_mistake(listener, host):
    assert paths(f'listen: {{{listener}: {{host: "{host}"}}}}') == [f"listen.{listener}.host"]


@pytest.mark.parametrize("host", ["127.0.0.1", "::", "fe80::1%eth0", "localhost", "kvs-0.kvs_internal"])
def test_names_and_addresses_are_hosts(host):
    assert parse(f'{REGION}listen: {{ops: {{host: "{host}"}}}}', {}).listen.ops.host == host


def test_a_variable_that_is_not_utf_8_is_a_mistake():
    master_key = 'session: {master_keys: ["${X}00000000000000000000000000000000"]}'
    text = f"control: {{tokens: ['${{X}}']}}\nsignature: {{credentials: {{{master_key}}}}}"
    assert paths(text, {"X": NOT_UTF_8}) == [
        "control.tokens[0]",
        "signature.credentials.session.master_keys[0]",
    ]
