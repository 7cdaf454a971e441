"""One prometheus process."""

import json
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import yaml

from tests.support.ports import HOST
from tests.support.prometheus.binary import program_or_skip
from tests.support.servers import ServerProcess, wait_for


class PrometheusServer(ServerProcess):
    """Scrapes what `scrape` names last; `kill` and `start` keep what was stored.

    `jobs` are paths by the name of their job: each target is scraped on each of them. Prometheus takes about
    5 s to begin with targets that are new to it. `rule_files` are rules to evaluate at the same interval.
    """

    name = "prometheus"

    def __init__(
        self,
        jobs: Mapping[str, str] | None = None,
        *,
        interval_seconds: float = 1.0,
        rule_files: Sequence[str] = (),
        flags: Sequence[str] = (),
    ) -> None:
        self._program = program_or_skip("prometheus")
        super().__init__(tempfile.TemporaryDirectory(prefix="kvs-prometheus-"))
        self._flags = flags
        self._targets = self.directory / "targets.json"
        self.scrape()
        jobs = jobs or {"kvs": "/metrics"}
        self._jobs = len(jobs)
        configuration = self._configuration(jobs, f"{interval_seconds * 1000:.0f}ms")
        configuration["rule_files"] = list(rule_files)
        (self.directory / "prometheus.yml").write_text(yaml.safe_dump(configuration))

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    def scrape(self, *urls: str) -> None:
        """The targets from now on, by their addresses (`http://host:port`)."""
        groups = [{"targets": [url.removeprefix("http://") for url in urls]}]
        changed = self.directory / "targets.new"
        changed.write_text(json.dumps(groups))
        changed.replace(self._targets)

    def query(self, expression: str, **parameters: str) -> list[dict[str, Any]]:
        """The result of an instant query, now if `time` is not given."""
        fields = urlencode({"query": expression, **parameters})
        with urlopen(f"{self.url}/api/v1/query?{fields}", timeout=10) as answer:
            return json.load(answer)["data"]["result"]

    def wait_until(self, url: str, *, up: bool, since: float = 0.0) -> None:
        """Until scrapes of a target on all paths succeeded, or failed, since then, and are stored."""
        instance = url.removeprefix("http://")

        def is_so() -> bool:
            last = [series["values"][-1] for series in self.query(f'up{{instance="{instance}"}}[5m]')]
            as_wanted = [time >= since and (value == "1") is up for time, value in last]
            return len(last) == self._jobs and all(as_wanted)

        wait_for(is_so, f"the target {url} does not become {up=}")

    def _configuration(self, jobs: Mapping[str, str], interval: str) -> dict[str, Any]:
        return {
            "global": {
                "scrape_interval": interval,
                "scrape_timeout": interval,
                "evaluation_interval": interval,
            },
            "scrape_configs": [
                {
                    "job_name": job,
                    "metrics_path": path,
                    "file_sd_configs": [{"files": [str(self._targets)], "refresh_interval": "1s"}],
                }
                for job, path in jobs.items()
            ],
        }

    def _environment(self) -> Mapping[str, str]:
        """All of it; one core, so that gateway and test keep theirs."""
        return {"HOME": str(self.directory), "GOMAXPROCS": "1"}

    def _invocation(self) -> Sequence[str]:
        return [
            self._program,
            f"--config.file={self.directory / 'prometheus.yml'}",
            f"--storage.tsdb.path={self.directory / 'data'}",
            f"--web.listen-address={HOST}:{self.port}",
            *self._flags,
        ]

    def _answers(self) -> bool:
        """And has read back what it stored."""
        try:
            with (
                urlopen(f"{self.url}/-/ready", timeout=1),
                urlopen(f"{self.url}/api/v1/status/config", timeout=1) as answer,
            ):
                return str(self._targets) in answer.read().decode()
        except (URLError, OSError):
            return False
