"""Rules for the Dockerfile and .dockerignore."""

import re
import shlex
from pathlib import PurePosixPath

import pytest

from gateway import __version__
from tests.system.deploy.image import dockerfile, final_stage, is_admitted
from tests.system.deploy.installations import Installation
from tests.system.deploy.policy.manifests import Manifests


def _arguments(name: str, instructions=None) -> list[str]:
    return [each.arguments for each in instructions or dockerfile() if each.name == name]


def test_every_base_image_is_pinned_or_another_stage():
    stages = set()
    for arguments in _arguments("FROM"):
        image, *alias = arguments.split(" AS ")
        assert image in stages or re.fullmatch(r"python:3\.\d+\.\d+-slim-\w+(@sha256:[0-9a-f]{64})?", image)
        stages.update(alias)


def test_the_image_runs_as_the_user_of_the_manifests(tmp_path):
    (user,) = _arguments("USER", final_stage())
    security = Manifests(Installation("redis").render(tmp_path)).pod["securityContext"]
    assert user == f"{security['runAsUser']}:{security['runAsGroup']}"


def test_the_dockerfile_downloads_nothing_itself_and_passes_no_secret():
    names = {each.name for each in dockerfile()}
    used = {"FROM", "WORKDIR", "COPY", "RUN", "ARG", "LABEL", "ENV", "USER", "EXPOSE", "ENTRYPOINT", "CMD"}
    assert names <= used
    text = "\n".join(each.arguments for each in dockerfile())
    assert not re.search(r"curl|wget|token|password|secret", text, re.IGNORECASE)
    assert "://" not in "\n".join(_arguments("RUN") + _arguments("COPY"))


def test_only_the_built_environment_reaches_the_final_stage():
    assert _arguments("COPY", final_stage()) == ["--from=build /opt/kvs-gateway /opt/kvs-gateway"]
    assert _arguments("RUN", final_stage()) == []


def test_pip_leaves_no_cache():
    installs = [line for line in _arguments("RUN") if re.search(r"\bpip\b.*\b(install|wheel)\b", line)]
    assert installs
    assert all("--no-cache-dir" in line for line in installs)


def test_the_image_serves_the_configuration_that_manifests_mount(tmp_path):
    container = Manifests(Installation("redis").render(tmp_path)).container
    (entrypoint,) = (each.words for each in final_stage() if each.name == "ENTRYPOINT")
    (command,) = (each.words for each in final_stage() if each.name == "CMD")
    assert entrypoint == ["kvs-gateway"]
    assert command == container["args"]
    assert "command" not in container


def test_the_running_image_writes_no_compiled_module():
    (environment,) = _arguments("ENV", final_stage())
    assert "PYTHONDONTWRITEBYTECODE=1" in environment.split()


def test_labels_describe_the_image_and_its_source():
    """https://github.com/opencontainers/image-spec/blob/main/annotations.md"""
    (stated,) = _arguments("LABEL", final_stage())
    words = (word.removeprefix("org.opencontainers.image.") for word in shlex.split(stated))
    labels = dict(word.split("=", 1) for word in words)
    (base,) = (each for each in _arguments("FROM") if ":" in each)
    assert labels["version"] == __version__
    assert labels["licenses"] == "Apache-2.0"
    assert labels["base.name"] == f"docker.io/library/{base.partition(' AS ')[0]}"
    assert (labels["revision"], labels["created"]) == ("$REVISION", "$CREATED")
    assert all(labels[name] for name in ("title", "description", "url", "source", "documentation"))


def test_labels_that_change_with_each_commit_come_after_all_layers():
    names = [each.name for each in final_stage()]
    assert names.index("ARG") > max(names.index(name) for name in ("COPY", "ENV", "WORKDIR"))


def test_modules_are_compiled_without_source_times():
    """Without it each build has different bytes."""
    runs = "\n".join(_arguments("RUN"))
    assert runs.count(" install ") == runs.count(" --no-compile ")
    assert "compileall -q -f --invalidation-mode unchecked-hash /opt/kvs-gateway/lib" in runs


@pytest.mark.parametrize(
    "path",
    [
        "gateway/__init__.py",
        "backends/redis/wire/url.py",
        "pyproject.toml",
        "setup.cfg",
        "README.md",
        "LICENSE",
        "config.example.yaml",
    ],
)
def test_the_build_context_holds_every_file_of_the_wheel(path):
    assert is_admitted(PurePosixPath(path))


@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        ".env",
        "config.yaml",
        "secrets/control-token",
        "deploy/overlays/redis/config.yaml",
        "tests/support/config.py",
        ".venv/bin/python",
        "gateway/__pycache__/app.cpython-311.pyc",
        "gateway/http/__pycache__/connection.cpython-311.pyc",
    ],
)
def test_the_build_context_holds_nothing_else(path):
    assert not is_admitted(PurePosixPath(path))
