"""Strings that come from the environment or from mounted files."""

from pathlib import Path

import pytest

from gateway.config.loading import load, parse
from gateway.config.problems import InvalidConfiguration

INTERPOLATED = Path(__file__).with_name("good") / "interpolated.yaml"


def _text(text: str, **environ: str) -> str:
    return parse(f"region: x\nsignature: {{approved_roles: ['{text}']}}", environ).signature.approved_roles[0]


@pytest.mark.parametrize(
    ("text", "environ", "value"),
    [
        ("${NAME}", {"NAME": "secret"}, "secret"),
        ("${NAME:-other}", {"NAME": "secret"}, "secret"),
        ("${NAME:-other}", {}, "other"),
        ("${NAME:-other}", {"NAME": ""}, "other"),
        ("${NAME:-a:-b}", {}, "a:-b"),
        ("a-${ONE}-${TWO}-z", {"ONE": "1", "TWO": "2"}, "a-1-2-z"),
        ("${ONE}", {"ONE": "${TWO}", "TWO": "2"}, "${TWO}"),
        ("$NAME", {"NAME": "secret"}, "$NAME"),
        ("${not-a-name}", {}, "${not-a-name}"),
        ("$${NAME}", {"NAME": "secret"}, "$secret"),
    ],
)
def test_a_string_is_replaced_by_an_environment_variable(text, environ, value):
    assert _text(text, **environ) == value


def test_a_string_may_refer_to_a_mounted_file(tmp_path):
    (tmp_path / "token").write_text("mounted-secret\n")
    assert _text(f"file:{tmp_path}/token") == "mounted-secret"


def test_only_the_line_break_at_the_end_of_a_file_is_not_part_of_the_secret(tmp_path):
    (tmp_path / "key").write_bytes(b"  a key of 32 characters and more \r\n")
    text = f"region: x\nsignature: {{credentials: {{session: {{master_keys: ['file:{tmp_path}/key']}}}}}}"
    session = parse(text, {}).signature.credentials.session
    assert session.master_keys == ["  a key of 32 characters and more "]


def test_the_files_name_may_come_from_the_environment(tmp_path):
    (tmp_path / "token").write_text("mounted-secret")
    assert _text("file:${FOLDER}/token", FOLDER=str(tmp_path)) == "mounted-secret"


def test_the_content_of_a_file_is_not_interpolated_again(tmp_path):
    (tmp_path / "token").write_text("${NAME}")
    assert _text(f"file:{tmp_path}/token", NAME="secret") == "${NAME}"


def test_numbers_and_switches_may_come_from_the_environment():
    environ = {"KVS_TEST_PORT": "9999", "KVS_TEST_REUSE": "true", "KVS_TEST_SHARE": "1"}
    settings = load(INTERPOLATED, environ)
    assert (settings.listen.data.port, settings.listen.data.reuse_port) == (9999, True)
    assert settings.logging.access == 1.0
    assert settings.public_url == "http://localhost:9999"


def test_numbers_and_switches_may_come_from_defaults():
    settings = load(INTERPOLATED, {})
    assert (settings.listen.data.port, settings.listen.data.reuse_port) == (8080, False)
    assert settings.logging.access == 0.5


def test_a_string_of_digits_from_the_environment_stays_a_string_where_one_is_wanted():
    assert _text("${NAME}", NAME="123456") == "123456"


@pytest.mark.parametrize("port", ["eighty", "-1", "65536", "80.5", "true"])
def test_a_number_from_the_environment_has_to_be_in_range(port):
    with pytest.raises(InvalidConfiguration) as caught:
        load(INTERPOLATED, {"KVS_TEST_PORT": port})
    assert [problem.path for problem in caught.value.problems] == ["listen.data.port"]


def test_keys_are_not_interpolated():
    with pytest.raises(InvalidConfiguration) as caught:
        parse("'${NAME}': x\nregion: x", {"NAME": "readiness"})
    assert [problem.problem for problem in caught.value.problems] == ["has a key that is not a name"]


def test_a_mounted_file_of_more_than_any_secret_is_a_mistake(tmp_path):
    file = tmp_path / "secret"
    file.write_text("x" * 65_537)
    with pytest.raises(InvalidConfiguration) as caught:
        parse(f"region: file:{file}", {})
    (problem,) = caught.value.problems
    assert (problem.path, problem.problem) == (
        "region",
        "names a file with more than 65536 characters",
    )


def test_a_configuration_without_end_cannot_be_read():
    with pytest.raises(InvalidConfiguration) as caught:
        load(Path("/dev/zero"), {})
    assert caught.value.problems[0].problem == "cannot be read"


def test_a_long_text_that_aliases_repeat_is_too_much():
    aliases = "\n".join("- *long" for _ in range(10_000))
    with pytest.raises(InvalidConfiguration) as caught:
        parse(f"region: &long {'x' * 100_000}\napps:\n{aliases}", {})
    assert caught.value.problems[0].problem == "contains too many values"
