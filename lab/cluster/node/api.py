"""Lists what the API server holds, often and cheaply: for processes of the node."""

import http.client
import json
import ssl
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml


class Unreadable(Exception):
    """The API server is not up yet, or was too slow."""


class Api:
    """On one connection; for one thread."""

    def __init__(self, kubeconfig: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text())
        cluster = config["clusters"][0]["cluster"]
        self._address = urlsplit(cluster["server"])
        self._context = ssl.create_default_context(cafile=cluster["certificate-authority"])
        self._headers = {"Authorization": f"Bearer {config['users'][0]['user']['token']}"}
        self._connection: http.client.HTTPSConnection | None = None

    def items(self, path: str) -> list[dict[str, Any]]:
        """All objects of a list, from the API server's memory. Raises Unreadable."""
        if self._connection is None:
            host, port = self._address.hostname, self._address.port
            self._connection = http.client.HTTPSConnection(host, port, context=self._context, timeout=10)
        try:
            self._connection.request("GET", f"{path}?resourceVersion=0", headers=self._headers)
            answer = self._connection.getresponse()
            content = json.load(answer)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._connection = None
            raise Unreadable(f"{path}: {error}") from error
        if answer.status != 200:
            raise Unreadable(f"{path}: {answer.status}")
        return content["items"]

    def running_pods(self) -> list[dict[str, Any]]:
        """With an address of their own, those that are ending included."""
        return [
            pod
            for pod in self.items("/api/v1/pods")
            if pod["status"].get("podIP")
            and not pod["spec"].get("hostNetwork")
            and pod["status"]["phase"] in {"Pending", "Running"}
        ]
