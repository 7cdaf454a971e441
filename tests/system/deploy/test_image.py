"""Replays the image build without Docker, and runs the result with the rights of a pod."""

import json
import os
import resource
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import yaml

from tests.support.config import BASE
from tests.support.servers import wait_for
from tests.support.stopwatch import PATIENCE_SECONDS
from tests.system.deploy.image import copy_context

UID = 10001
MODULES = Path(sysconfig.get_path("purelib"))


@pytest.fixture(scope="module")
def image():
    """Read-only folder with the built environment and a configuration."""
    folder = Path(tempfile.mkdtemp(prefix="kvs-image-"))
    folder.chmod(0o755)
    try:
        _build(folder)
        (folder / "config.yaml").write_text(yaml.safe_dump(BASE))
        _run("chmod", "-R", "a+rX,a-w", str(folder))
        yield folder
    finally:
        _run("chmod", "-R", "u+w", str(folder))
        shutil.rmtree(folder)


def _build(folder: Path) -> None:
    """Replays the Dockerfile with the dependencies of the test environment."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    source = folder / "source"
    source.mkdir()
    copy_context(source)
    _run(*pip, "wheel", "--no-cache-dir", "--no-deps", "--wheel-dir", str(folder / "wheels"), str(source))
    (wheel,) = (folder / "wheels").glob("*.whl")
    _run(sys.executable, "-m", "venv", "--without-pip", str(folder / "venv"))
    python = folder / "venv/bin/python"
    install = ("install", "--quiet", "--no-compile", "--no-deps", "--no-index")
    _run(*pip[:3], "--python", str(python), *install, "--find-links", str(wheel.parent), "kvs-gateway")
    _run(str(python), "-I", "-c", "import gateway")  # pip imports some modules after their installation
    compiled = ("-m", "compileall", "-q", "-f", "--invalidation-mode", "unchecked-hash")
    _run(sys.executable, *compiled, str(folder / "venv/lib"))
    modules = folder / f"venv/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    (modules / "dependencies.pth").write_text(f"{MODULES}\n")
    shutil.rmtree(source)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, timeout=120)


def _write_nothing() -> None:
    """Makes any write to a file end the process."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def _reachable_by_others(python: Path) -> bool:
    try:
        subprocess.run([python, "-c", "import aiohttp"], user=UID, group=UID, extra_groups=[], check=True)
    except (PermissionError, subprocess.CalledProcessError):
        return False
    return True


def _start(image: Path, *arguments: str) -> subprocess.Popen[str]:
    """Drops rights: root becomes another user, others lose all capabilities."""
    command = [str(image / "venv/bin/kvs-gateway"), *arguments]
    options = {}
    if os.geteuid() == 0:
        if _reachable_by_others(image / "venv/bin/python"):
            options = {"user": UID, "group": UID, "extra_groups": []}
        else:
            command = [
                shutil.which("setpriv"),
                "--bounding-set=-all",
                "--inh-caps=-all",
                "--no-new-privs",
                *command,
            ]
    return subprocess.Popen(
        command,
        cwd="/",
        env={"PATH": str(image / "venv/bin"), "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(image)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_write_nothing,  # noqa: PLW1509 - no threads here
        **options,
    )


def test_the_image_serves_without_rights_home_or_a_place_to_write(image):
    process = _start(image, "serve", "--config", str(image / "config.yaml"))
    try:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        ops = json.loads(line)["listening"]["ops"]
        for path in ("/livez", "/readyz"):
            wait_for(lambda path=path: _status(ops + path) == 200, path)
        assert _capabilities(process.pid) == 0
        process.terminate()
        assert process.wait(PATIENCE_SECONDS) == 0
    finally:
        process.kill()
        process.communicate()


def test_the_image_runs_its_own_copy(image):
    code = "import gateway, backends; print(gateway.__file__, backends.__file__)"
    done = subprocess.run(
        [image / "venv/bin/python", "-E", "-c", code], cwd="/", capture_output=True, text=True, check=True
    )
    assert all(Path(file).is_relative_to(image) for file in done.stdout.split())


def test_two_builds_of_the_same_files_are_identical(tmp_path):
    """Compares all but file times, which builders set to that of the commit."""
    first = _built(tmp_path / "image")
    shutil.rmtree(tmp_path / "image")
    assert _built(tmp_path / "image") == first
    assert any(name.endswith(".pyc") for name in first)


def _built(folder: Path) -> dict[str, bytes]:
    folder.mkdir()
    _build(folder)
    files = (file for file in (folder / "venv").rglob("*") if file.is_file() and not file.is_symlink())
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def _status(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def _capabilities(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("CapEff")), 16)
