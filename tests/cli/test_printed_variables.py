"""Shell lines and manifests hold what a gateway sends for the table, or are not printed at all."""

import copy
import subprocess

import pytest
import yaml

from tests.cli.scripted import CREATE, ISSUED, TOKEN, as_json, run

FORMATS = ("env", "k8s-secret", "json")
URL, REGION, TOKEN_OF_POSTS = ISSUED["runtime"]
OTHER_TOKEN = "kvs_BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB0KQTMm"
PAYLOADS = [
    "X=1;touch pwned;Y",
    "PATH",
    "LD_PRELOAD",
    "SERVICE_KVS_TOKEN_OTHER",
    "KVS_CONTROL_TOKEN",
    "A B",
    "",
]


def _create(form: str, answer: object):
    return run((*CREATE, "--format", form), lambda: [as_json(answer)])


def _changed(**changes: object) -> dict:
    """The expected answer, with fields of it replaced; `table__name` is a field of the table."""
    answer = copy.deepcopy(ISSUED)
    for path, value in changes.items():
        *above, last = path.split("__")
        part = answer
        for name in above:
            part = part[name]
        part[last] = value
    return answer


def _with_prefix(prefix: str) -> dict:
    runtime = {name.replace("SERVICE", prefix, 1): value for name, value in ISSUED["runtime"].items()}
    return _changed(runtime=runtime, table__env_var_name=f"{prefix}_KVS_TOKEN_POSTS")


def _refused(form: str, answer: object) -> None:
    result = _create(form, answer)
    assert (result.code, result.error["error"]) == (1, "unexpected_answer")
    assert result.out == ("(exit 1)\n" if form == "env" else "")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", PAYLOADS)
def test_no_further_variable_is_printed(form, name):
    _refused(form, _changed(runtime=ISSUED["runtime"] | {name: "x"}))


@pytest.mark.parametrize("name", PAYLOADS)
@pytest.mark.parametrize("replaced", ISSUED["runtime"])
def test_no_other_name_takes_the_place_of_an_expected_one(name, replaced):
    runtime = {name if each == replaced else each: value for each, value in ISSUED["runtime"].items()}
    _refused("env", _changed(runtime=runtime))


@pytest.mark.parametrize("missing", ISSUED["runtime"])
def test_all_three_variables_are_needed(missing):
    _refused("env", _changed(runtime={k: v for k, v in ISSUED["runtime"].items() if k != missing}))


BAD_PREFIXES = [
    "",
    "_A",
    "1A",
    "a",
    "A-B",
    "A\n",
    "A=1;touch pwned;B",
    "A" * 33,
    "Ä",
    "S_KVS_TOKEN",
    "S_KVS_TOKEN_T",
]


@pytest.mark.parametrize("prefix", BAD_PREFIXES)
def test_no_prefix_is_printed_that_a_gateway_cannot_have(prefix):
    _refused("env", _with_prefix(prefix))


@pytest.mark.parametrize("prefix", ["SERVICE", "A", "A_", "A_KVS", "PATH", "KVS_CONTROL", "A" * 32])
def test_every_prefix_that_a_gateway_can_have_is_printed(prefix):
    printed = _create("env", _with_prefix(prefix)).out
    names = [line.partition("=")[0] for line in printed.splitlines()]
    assert names == [f"export {prefix}_KVS_{each}" for each in ("URL", "REGION", "TOKEN_POSTS")]


def test_three_variables_may_not_have_two_prefixes():
    runtime = {"OTHER_KVS_URL": ISSUED["runtime"][URL], **ISSUED["runtime"]}
    del runtime[URL]
    _refused("env", _changed(runtime=runtime))


BAD_VALUES = {
    URL: [
        "",
        "ftp://x",
        "https://a b",
        "https://a\n",
        "https://a\x1b[2J",
        "https://" + "a" * 2048,
        "$(id)",
        1,
        None,
    ],
    REGION: ["", "EU", "eu central", "eu\n", "a" * 65, "\x1b]0;x\x07", None, []],
    TOKEN_OF_POSTS: [
        "",
        "kvs_short",
        OTHER_TOKEN,
        TOKEN[:-1] + "_",
        f"{TOKEN}\n",
        None,
    ],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in BAD_VALUES.items() for value in values]
)
def test_no_value_is_printed_that_a_gateway_cannot_send(name, value):
    _refused("k8s-secret", _changed(runtime=ISSUED["runtime"] | {name: value}))


@pytest.mark.parametrize("value", BAD_VALUES[URL])
def test_no_url_is_printed_that_a_gateway_cannot_have(value):
    _refused("env", _changed(table__kvs_url=value, runtime=ISSUED["runtime"] | {URL: value}))


@pytest.mark.parametrize("value", ["", "kvs_short", TOKEN[:-1] + "_", "$(touch pwned)"])
def test_no_token_is_printed_that_a_gateway_cannot_issue(value):
    _refused("env", _changed(token=value, runtime=ISSUED["runtime"] | {TOKEN_OF_POSTS: value}))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("field", ["org_id", "app_id", "env_id", "name"])
def test_variables_of_another_table_are_not_printed(form, field):
    _refused(form, _changed(**{f"table__{field}": "other"}))


def test_expected_variables_reach_a_shell_and_nothing_else_does(tmp_path):
    printed = _create("env", ISSUED).out
    done = subprocess.run(
        ["/bin/sh", "-euc", f'eval "$PRINTED"; printf "%s\\n" "${URL}" "${REGION}" "${TOKEN_OF_POSTS}"'],
        env={"PRINTED": printed},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == list(ISSUED["runtime"].values())
    assert not any(tmp_path.iterdir())


def test_fields_of_a_newer_gateway_do_not_reach_shell_or_manifest():
    newer = _changed(more={"x": 1}, table__previous_tokens=[{"last_four": "abcd"}])
    assert _create("env", newer).out == _create("env", ISSUED).out
    assert yaml.safe_load(_create("k8s-secret", newer).out)["stringData"] == ISSUED["runtime"]
    assert _create("json", newer).json == newer
