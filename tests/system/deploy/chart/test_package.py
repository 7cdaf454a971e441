"""The chart as a package: lint, archive, notes and guide."""

import os
import re
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.project.chart import CHART
from tests.support.config import merged
from tests.support.helm import render, run
from tests.system.deploy.chart.guide import GUIDE, MORE_VALUES, VALUES
from tests.system.deploy.chart.releases import values_of
from tests.system.deploy.installations import LISTENERS, OVERLAYS, Installation
from tests.system.deploy.mounts import mount_rendered
from tests.system.deploy.policy.manifests import Manifests
from tests.system.deploy.test_configurations import check

ALL = Installation("redis", ("monitoring", "autoscaling", *LISTENERS))
LEFT_OUT = {"monitoring/kustomization.yaml", "monitoring/scrape.yaml"}


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    folder = tmp_path_factory.mktemp("package")
    done = run("package", CHART, "--destination", folder)
    assert done.returncode == 0, done.stderr
    (file,) = folder.iterdir()
    return file


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_lint_finds_nothing(overlay):
    done = run("lint", CHART, "--strict", values=values_of(Installation(overlay)))
    assert done.returncode == 0, done.stdout
    assert "[WARNING]" not in done.stdout


def test_the_archive_renders_what_the_folder_renders(archive):
    values = values_of(ALL)
    assert render(archive, values) == render(CHART, values)


def test_the_archive_has_every_file_including_linked_ones(archive):
    with tarfile.open(archive) as packed:
        assert all(member.isfile() for member in packed.getmembers())
        names = {member.name.removeprefix("kvs-gateway/") for member in packed.getmembers()}
        for name in (each for each in names if each.startswith("monitoring/")):
            assert packed.extractfile(f"kvs-gateway/{name}").read() == (CHART / name).read_bytes()
    assert names == {str(file.relative_to(CHART)) for file in _files(CHART)} - LEFT_OUT


def _files(folder: Path) -> list[Path]:
    """Follows links to folders."""
    return [Path(place) / name for place, _, names in os.walk(folder, followlinks=True) for name in names]


def test_the_values_of_the_guide_are_accepted(tmp_path):
    manifests = Manifests(render(CHART, VALUES))
    assert manifests.container["image"] == f"registry.internal/kvs-gateway@sha256:{64 * '0'}"
    done = check(mount_rendered(manifests, tmp_path))
    assert (done.returncode, done.stderr) == (0, "")


def test_the_listeners_of_the_guide_are_accepted(tmp_path):
    keys = tmp_path / "jwks.json"
    keys.write_text('{"keys": []}')
    objects = render(CHART, merged(VALUES, MORE_VALUES), "--set-file", rf"files.jwks\.json={keys}")
    (tmp_path / "mounted").mkdir()
    done = check(mount_rendered(Manifests(objects), tmp_path / "mounted"))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("script", re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL))
def test_the_options_of_the_guides_commands_exist(script):
    for command in script.replace("\\\n", " ").splitlines():
        _, verb, *words = command.split()
        known = run(verb, "--help").stdout
        for option in (word for word in words if word.startswith("--")):
            assert re.search(rf"^\s+(-\w, )?{option}\b", known, re.MULTILINE), option


@pytest.fixture
def notes(tmp_path):
    """Renders the notes as an ordinary template, because Helm prints notes only with a cluster."""
    chart = shutil.copytree(CHART, tmp_path / "chart")
    text = (chart / "templates/NOTES.txt").read_text()
    template = '{{ define "notes" }}' + text + '{{ end }}notes: {{ include "notes" . | quote }}'
    (chart / "templates/notes.yaml").write_text(template)

    def rendered_for(installation: Installation, **changes: Any) -> str:
        values = merged(values_of(installation), changes)
        (document,) = render(chart, values, "--show-only", "templates/notes.yaml")
        return document["notes"]

    return rendered_for


def test_the_notes_warn_of_the_memory_store(notes):
    assert "WARNING: the memory store" in notes(Installation("memory"))
    assert "WARNING" not in notes(Installation("redis"))


def test_the_notes_warn_of_an_open_ops_port(notes):
    assert "reaches the ops port" in notes(Installation("memory"))
    assert "reaches the ops port" not in notes(Installation("memory", ("network-policy",)))


def test_the_notes_warn_of_unencrypted_tokens(notes):
    balanced = {"type": "LoadBalancer"}
    assert "in the clear" in notes(Installation("redis"), service=balanced)
    tls = {"listen": {"data": {"tls": {"certificate": "/tls/tls.crt", "key": "/tls/tls.key"}}}}
    encrypted = tls | {"edge": {"max_connections": 100}}
    assert "in the clear" not in notes(Installation("redis"), service=balanced, config=encrypted)


def test_the_notes_name_the_installed_objects(notes):
    text = notes(ALL)
    assert "deployment/kvs-gateway" in text
    assert "https://kvs-gateway-credentials.kvs-gateway.svc" in text
    assert "ingress-nginx" in text
