"""Lists the pods for Prometheus, as it would find them itself: Debian's is built without Kubernetes.

A process: `python -m lab.cluster.node.discovery KUBECONFIG`. One target for each port of each container.
"""

import json
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

from lab.cluster.enclosure import NODE_ADDRESS
from lab.cluster.node.api import Api, Unreadable

PORT = 9100
_META = "__meta_kubernetes_"


def targets_of(pod: dict[str, Any]) -> Iterator[dict[str, Any]]:
    metadata, status = pod["metadata"], pod["status"]
    labels = {f"{_META}namespace": metadata["namespace"], f"{_META}pod_name": metadata["name"]}
    labels[f"{_META}pod_phase"] = status["phase"]
    for name, value in metadata.get("labels", {}).items():
        sanitized = "".join(letter if letter.isalnum() else "_" for letter in name)
        labels[f"{_META}pod_label_{sanitized}"] = value
    for container in pod["spec"]["containers"]:
        for port in container.get("ports", []):
            own = {
                f"{_META}pod_container_name": container["name"],
                f"{_META}pod_container_port_name": port.get("name", ""),
            }
            yield {"targets": [f"{status['podIP']}:{port['containerPort']}"], "labels": labels | own}


def main(kubeconfig: Path) -> None:
    api = Api(kubeconfig)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            try:
                found = [target for pod in api.running_pods() for target in targets_of(pod)]
            except Unreadable as error:
                self.send_error(503, str(error))
                return
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(found).encode())

    HTTPServer((NODE_ADDRESS, PORT), Handler).serve_forever()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
