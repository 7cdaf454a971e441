"""kubectl, and what its output says."""

import json
import subprocess
from pathlib import Path
from typing import Any

from lab.cluster.step import run


class Kubectl:
    """`kubectl("get", "pods")` is the text that it prints; RuntimeError if it fails."""

    def __init__(self, program: Path, kubeconfig: Path) -> None:
        self.program, self.kubeconfig = program, kubeconfig

    @property
    def command(self) -> list[str]:
        return [str(self.program), f"--kubeconfig={self.kubeconfig}"]

    def __call__(self, *arguments: str | Path, text: str | None = None) -> str:
        return run(*self.command, *arguments, text=text)

    def succeeds(self, *arguments: str | Path) -> bool:
        command = [*self.command, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, check=False, timeout=30).returncode == 0

    def get(self, *arguments: str) -> Any:
        """One object, or a list's items."""
        answer = json.loads(self("get", *arguments, "--output=json"))
        return answer.get("items", answer)

    def apply(self, *objects: dict[str, Any]) -> None:
        self("apply", "-f", "-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
