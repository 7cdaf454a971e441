"""A Prometheus, for the memory that series take in it."""

from pathlib import Path
from tempfile import TemporaryDirectory
from time import sleep

import yaml

from benchmarks.processes import GENERATOR_CORE, answers_http, find_program, free_port, running

PROGRAM = "prometheus"

_SECONDS = 12.0
"""In which it scrapes once a second."""


def scraping_bytes(url: str) -> int | None:
    """Resident memory of one that scrapes this address; None where there is none."""
    program = find_program(PROGRAM)
    if program is None:
        return None
    with TemporaryDirectory() as folder:
        port = free_port()
        file = Path(folder) / "prometheus.yml"
        file.write_text(yaml.safe_dump(_config(url)))
        command = [
            program,
            f"--config.file={file}",
            f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address=127.0.0.1:{port}",
        ]
        is_ready = f"http://127.0.0.1:{port}/-/ready"
        with running(command, GENERATOR_CORE, lambda: answers_http(is_ready)) as process:
            sleep(_SECONDS)
            return int(process.memory_info().rss)


def _config(url: str) -> dict[str, object]:
    address, _, path = url.removeprefix("http://").partition("/")
    job = {"job_name": "kvs", "metrics_path": f"/{path}", "static_configs": [{"targets": [address]}]}
    return {"global": {"scrape_interval": "1s"}, "scrape_configs": [job]}
