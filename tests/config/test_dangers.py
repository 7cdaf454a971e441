"""Dangerous settings that a key allows: the start says which they are, and what is published is known."""

import re
from pathlib import Path

import pytest

from gateway.app import build_app
from gateway.config.dangers import PUBLISHED, find_dangers
from gateway.config.loading import load, parse
from gateway.config.problems import InvalidConfiguration
from tests.config.test_example import EXAMPLE

ALLOWED = Path(__file__).with_name("good") / "dangers_that_are_allowed.yaml"


def test_every_secret_of_the_example_is_known_as_published():
    defaults = re.findall(r"\$\{KVS_\w+:-([^}]+)\}", EXAMPLE.read_text())
    assert set(defaults) == PUBLISHED


def test_the_example_is_no_danger_on_loopback():
    assert not list(find_dangers(load(EXAMPLE, {})))


@pytest.mark.parametrize("listener", ["data", "control"])
def test_the_example_is_refused_off_loopback(listener):
    text = EXAMPLE.read_text()
    start = text.index(f"\n  {listener}:")
    moved = text[:start] + text[start:].replace("host: 127.0.0.1", "host: 0.0.0.0", 1)
    with pytest.raises(InvalidConfiguration):
        parse(moved, {})


async def test_the_start_names_each_danger_that_is_allowed_and_the_key_that_allows_it(caplog):
    await build_app(load(ALLOWED, {}))
    logged = [record.fields for record in caplog.records if record.msg == "a dangerous setting is allowed"]
    assert [(line["path"], line["allowed_by"]) for line in logged] == [
        ("listen.control.host", "control.allow_insecure"),
        ("control.tokens[0]", "control.allow_insecure"),
        ("control.tokens[1]", "control.allow_insecure"),
        ("signature.credentials.static[0].secret_access_key", "signature.allow_public"),
    ]


def test_a_control_listener_off_loopback_is_no_danger_with_tls_but_published_tokens_are():
    tls = "{certificate: tests/config/good/tls.pem, key: tests/config/good/tls.pem}"
    listen = f"listen: {{control: {{host: 0.0.0.0, tls: {tls}}}}}\nregion: x\ncontrol: "
    assert not list(find_dangers(parse(f"{listen}{{tokens: [a-long-control-token]}}", {})))
    with pytest.raises(InvalidConfiguration) as caught:
        parse(f"{listen}{{tokens: [dev-control-token]}}", {})
    assert [problem.path for problem in caught.value.problems] == ["control.tokens[0]"]


def test_a_control_token_of_the_environment_is_judged_like_one_in_the_file():
    with pytest.raises(InvalidConfiguration) as caught:
        parse("region: x", {"KVS_CONTROL_TOKEN": "short"})
    assert [problem.path for problem in caught.value.problems] == ["control.tokens[0]"]


def test_permission_stays_when_the_token_comes_from_the_environment():
    settings = parse("region: x\ncontrol: {allow_insecure: true}", {"KVS_CONTROL_TOKEN": "short"})
    assert (settings.control.tokens, settings.control.allow_insecure) == (["short"], True)


@pytest.mark.parametrize(
    "secret", ["dev-secret-access-key", "[other-secret-of-the-proxy, dev-control-token]"]
)
def test_a_published_secret_is_none_of_a_proxy(secret):
    role = "arn:aws:iam::123456789012:role/a"
    proxy = f"credentials: {{trusted_proxy: {{secret: {secret}}}}}"
    text = (
        f"region: x\nlisten: {{data: {{host: 0.0.0.0}}}}\nsignature: {{approved_roles: ['{role}'], {proxy}}}"
    )
    with pytest.raises(InvalidConfiguration) as caught:
        parse(text, {})
    [problem] = caught.value.problems
    assert problem.path.startswith("signature.credentials.trusted_proxy.secret")
