"""`make release` writes its artifacts, the same each time, or nothing."""

import json
import re
import shutil
import subprocess
import tarfile
import zipfile
from email import message_from_string

import pytest

from gateway import __version__
from tests.project.lock import pins
from tests.system.release.repository import commit, make_repository, release

WHEEL = f"kvs_gateway-{__version__}-py3-none-any.whl"
GO = f"go/example.com/kvs/@v/v{__version__}"


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    return make_repository(tmp_path_factory.mktemp("repository"))


@pytest.fixture(scope="module")
def dist(repository, tmp_path_factory):
    """Folder with a complete, checked release."""
    target = tmp_path_factory.mktemp("release") / "dist"
    done = release(repository, "--target", str(target))
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture
def clone(repository, tmp_path):
    """Copy of the repository for changes."""
    return shutil.copytree(repository, tmp_path / "clone", symlinks=True)


def test_a_release_contains_all_published_artifacts(dist):
    files = {str(file.relative_to(dist)) for file in dist.rglob("*") if file.is_file()}
    assert files >= {
        *(WHEEL, f"kvs_gateway-{__version__}.tar.gz", f"kvs_gateway-{__version__}.cdx.json"),
        *(f"kvs_client-{__version__}-py3-none-any.whl", f"kvs_client-{__version__}.tar.gz"),
        *(f"kvs-client-{__version__}.tgz", f"kvs-gateway-{__version__}.tgz"),
        *(f"{GO}.zip", f"{GO}.mod", f"{GO}.info", "SHA256SUMS"),
    }
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=dist, check=True)
    assert len((dist / "SHA256SUMS").read_text().splitlines()) == len(files) - 1


def test_the_same_commit_gives_the_same_bytes(repository, dist, tmp_path):
    elsewhere = shutil.copytree(repository, tmp_path / "elsewhere", symlinks=True)
    for file in elsewhere.rglob("*.py"):
        file.touch()
    again = tmp_path / "again"
    done = release(elsewhere, "--target", str(again), "--only-build")
    assert done.returncode == 0, done.stderr
    sums = set((again / "SHA256SUMS").read_text().splitlines())
    assert len(sums) >= 8
    assert sums <= set((dist / "SHA256SUMS").read_text().splitlines())


def test_the_metadata_of_packages_is_complete(dist):
    with zipfile.ZipFile(dist / WHEEL) as wheel:
        stated = message_from_string(wheel.read(f"kvs_gateway-{__version__}.dist-info/METADATA").decode())
        assert f"kvs_gateway-{__version__}.dist-info/licenses/LICENSE" in wheel.namelist()
        assert "gateway/config/example.yaml" in wheel.namelist()
        assert {name.split("/")[0] for name in wheel.namelist()} == {
            *("gateway", "backends", f"kvs_gateway-{__version__}.dist-info"),
        }
    assert (stated["License-Expression"], stated["Version"]) == ("Apache-2.0", __version__)
    assert any(line.startswith("Changelog, ") for line in stated.get_all("Project-URL"))
    with tarfile.open(dist / f"kvs-client-{__version__}.tgz") as package:
        assert {"package/LICENSE", "package/package.json", "package/src/index.js"} <= set(package.getnames())


def test_the_bill_of_materials_has_all_locked_packages_and_no_path(dist):
    text = (dist / f"kvs_gateway-{__version__}.cdx.json").read_text()
    bill = json.loads(text)
    listed = {(re.sub("[-_.]+", "-", each["name"].lower()), each["version"]) for each in bill["components"]}
    locked = {(pin.name, pin.version) for pin in pins() if pin.marker is None or pin.marker.evaluate()}
    assert listed >= locked
    assert listed - locked <= {("kvs-gateway", __version__)}
    assert (bill["metadata"]["component"]["name"], bill["bomFormat"]) == ("kvs-gateway", "CycloneDX")
    assert "file://" not in text


if shutil.which("go"):

    def test_the_go_module_can_be_downloaded_from_the_files(dist, tmp_path):
        (tmp_path / "go.mod").write_text("module example.org/app\n\ngo 1.25.0\n")
        environ = {"GOPROXY": f"file://{dist}/go", "GONOSUMDB": "*", "GOFLAGS": "-modcacherw"}
        environ |= {"GOMODCACHE": str(tmp_path / "modules"), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
        done = subprocess.run(
            [shutil.which("go"), "mod", "download", "-json", f"example.com/kvs@v{__version__}"],
            cwd=tmp_path,
            env=environ,
            capture_output=True,
            text=True,
            check=True,
        )
        assert json.loads(done.stdout)["Version"] == f"v{__version__}"


def test_a_changed_file_prevents_a_release(clone):
    (clone / "README.md").write_text("changed")
    _refused(clone, "README.md")


def test_an_untracked_file_prevents_a_release(clone):
    (clone / "gateway/more.py").write_text("")
    _refused(clone, "gateway/more.py")


def test_a_version_without_changelog_is_not_released(clone):
    changelog = clone / "CHANGELOG.md"
    changelog.write_text(changelog.read_text().replace(f"## {__version__} - ", "## Later - "))
    commit(clone, "No notes")
    _refused(clone, f"## {__version__} - YYYY-MM-DD")


def test_a_version_that_is_tagged_on_another_commit_is_not_released(clone):
    subprocess.run(["git", "tag", f"v{__version__}"], cwd=clone, check=True)
    (clone / "README.md").write_text("changed")
    commit(clone, "Changed after the tag")
    _refused(clone, "choose a new version")


def test_a_build_that_does_not_work_is_not_released(clone):
    """The wheel installs, and its command fails."""
    main = clone / "gateway/cli/main.py"
    main.write_text(main.read_text().replace('json.dumps({"ok": True})', "1 // 0", 1))
    commit(clone, "Broken")
    _refused(clone, "ZeroDivisionError")


def _refused(repository, reason: str) -> None:
    done = release(repository, "--target", "dist")
    assert done.returncode == 1
    assert done.stderr.startswith("not released: ")
    assert reason in done.stderr
    assert not (repository / "dist").exists()
