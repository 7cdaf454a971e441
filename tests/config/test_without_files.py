"""A file is checked where the secrets that it names are not there, as in a pipeline."""

from pathlib import Path

import pytest
import yaml

from gateway.config.loading import load
from gateway.config.problems import InvalidConfiguration
from tests.config.test_mistakes import FILES, _expected
from tests.support.config import merged

ROOT = Path(__file__).parents[2]
GOOD = [*Path(__file__).with_name("good").glob("*.yaml"), *ROOT.glob("deploy/overlays/*/config.yaml")]
OF_FILES = (
    "cannot be read",
    "needs a PEM certificate",
    "does not name a certificate",
    "holds no certificate",
    "nor a file that can be read",
)

MOUNTED = {
    "region": "eu-central-1",
    "public_url": "file:/none/url",
    "workloads": [{"issuer": "https://a.example.com", "audience": "kvs", "jwks": "/none/keys.json"}],
    "listen": {
        "credentials": {},
        "data": {"port": "file:/none/port", "tls": {"certificate": "/none/a.pem", "key": "/none/a.key"}},
    },
    "control": {"tokens": ["file:/none/one", "file:/none/two"]},
    "signature": {
        "credentials": {
            "static": [
                {
                    "access_key_id": "file:/none/id",
                    "secret_access_key": "file:/none/key",
                    "role": "file:/none/role",
                }
            ],
            "session": {"master_keys": ["file:/none/master", "${MOUNT:-file:/none/older}"]},
            "trusted_proxy": {"secret": ["file:/none/proxy"]},
        },
        "approved_roles": ["arn:aws:iam::123456789012:role/x"],
    },
    "store": {
        "kind": "redis",
        "url": "rediss://cache.example.com:6379/0",
        "ca_file": "/none/ca.pem",
        "certificate": "/none/c.pem",
        "key": "/none/c.key",
    },
    "counters": {"kind": "redis", "url": "file:/none/redis-url"},
    "apps": [
        {
            "org": "acme",
            "app": "shop",
            "type": "api",
            "tables": [
                {"name": "a", "token": "file:/none/a"},
                {"name": "b", "token_sha256": "file:/none/b"},
            ],
        }
    ],
}


def _problems(file: Path) -> list[str]:
    try:
        load(file, {}, with_files=False)
    except InvalidConfiguration as error:
        return [f"{problem.path}: {problem.problem}" for problem in error.problems]
    return []


def _written(tmp_path: Path, changes: dict) -> Path:
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump(merged(MOUNTED, changes)))
    return file


@pytest.mark.parametrize("file", GOOD, ids=str)
def test_a_good_file_has_no_mistakes(file):
    assert _problems(file) == []


def test_nothing_that_is_mounted_has_to_be_there(tmp_path):
    assert _problems(_written(tmp_path, {})) == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_mistakes_that_are_not_those_of_files_are_reported_all_the_same(file):
    expected = [line for line in _expected(file) if not any(text in line for text in OF_FILES)]
    assert _problems(file) == expected


def test_mistakes_beside_mounted_files_are_reported(tmp_path):
    changes = {
        "limit": {},
        "control": {"tokens": ["file:/none/one", "file:/none/two", "short"]},
        "store": {"key": None},
        "apps": [],
    }
    assert _problems(_written(tmp_path, changes)) == [
        "control.tokens[2]: is shorter than 16 characters; set control.allow_insecure: true to allow it",
        "limit: is not a known key",
        "store.certificate: needs key as well",
    ]


def test_a_file_that_is_there_is_not_read_either(tmp_path):
    (tmp_path / "short").write_text("short")
    assert _problems(_written(tmp_path, {"control": {"tokens": [f"file:{tmp_path}/short"]}})) == []
