"""The guide's blocks on a real API server: what they print, how pods start, what they take."""

import json
import re
import tarfile
import time
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from lab.cluster import processes
from lab.cluster.deployed import is_ready
from lab.cluster.images import GATEWAY
from tests.system.deploy.guide import SCRIPTS

MIB = 2**20
READY_SECONDS = 1.0
STARTS = 3
AT_REST_BYTES = 60 * MIB
IMAGE_BYTES = 120e6


def test_the_guide_ends_with_a_first_put(site):
    assert re.search(r'\{"ok": ?true\}', site.first_put)


def test_the_pods_run_where_restricted_pod_security_refuses_others(site):
    assert all(map(is_ready, site.pods()))
    with pytest.raises(RuntimeError, match='violates PodSecurity "restricted'):
        site.here("run", "other", f"--image={GATEWAY}:now", "--dry-run=server")


def test_an_applied_overlay_has_no_differences(site):
    (script,) = [script for script in SCRIPTS if "kubectl diff" in script]
    assert site.shell(script.splitlines()[0]) == ""


def test_a_pod_is_ready_within_a_second_of_its_start(site, shown):
    """From the start of its process to `/readyz` 200; the quickest of several: the node has other work."""
    seconds = []
    for _ in range(STARTS):
        before = set(processes.pids(processes.GATEWAY))
        site.here("delete", "pod", site.pods()[0]["metadata"]["name"], "--wait=false")
        seconds.append(_seconds_to_ready(before))
        site.rolled_out()
    shown.seen.append(f"ready {min(seconds):.2f} to {max(seconds):.2f} s after the start of the process")
    assert min(seconds) < READY_SECONDS


def _seconds_to_ready(before: set[int]) -> float:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for pid in set(processes.pids(processes.GATEWAY)) - before:
            address = processes.address(pid)
            try:
                with urlopen(f"http://{address}:9090/readyz", timeout=1):
                    return processes.age_seconds(pid)
            except (URLError, OSError):
                continue
        time.sleep(0.01)
    raise TimeoutError("no further gateway")


def test_a_pod_at_rest_takes_less_than_60_mib(site, shown):
    resident = max(map(processes.resident_bytes, processes.pids(processes.GATEWAY)))
    shown.seen.append(f"{resident / MIB:.1f} MiB resident, the most of {len(site.pods())} pods")
    assert resident < AT_REST_BYTES


def test_the_image_is_smaller_than_120_mb_beside_its_base(archives, shown):
    with tarfile.open(archives["now"]) as archive:

        def read(digest: str) -> dict:
            return json.load(archive.extractfile(f"blobs/{digest.replace(':', '/')}"))

        manifest = read(json.load(archive.extractfile("index.json"))["manifests"][0]["digest"])
        base, *own = manifest["layers"]
    size = sum(layer["size"] for layer in own)
    shown.seen.append(
        f"{size / 1e6:.1f} MB compressed; the base, Debian's packages here, {base['size'] / 1e6:.1f} MB"
    )
    assert own
    assert size < IMAGE_BYTES
