"""Dapr's sidecar on the same Redis, with its API token and its rate limit, which is a middleware."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.exchange import KEYS, VALUE, Exchange
from benchmarks.processes import PEERS, free_port

_TOKEN = "bench-api-token"

_COMPONENTS = """\
apiVersion: dapr.io/v1alpha1
kind: Component
metadata: {{name: statestore}}
spec:
  type: state.redis
  version: v1
  metadata:
  - {{name: redisHost, value: "127.0.0.1:{redis_port}"}}
  - {{name: redisPassword, value: ""}}
---
apiVersion: dapr.io/v1alpha1
kind: Component
metadata: {{name: limit}}
spec:
  type: middleware.http.ratelimit
  version: v1
  metadata:
  - {{name: maxRequestsPerSecond, value: "1000000"}}
"""

_CONFIGURATION = """\
apiVersion: dapr.io/v1alpha1
kind: Configuration
metadata: {name: bench}
spec:
  httpPipeline:
    handlers:
    - {name: limit, type: middleware.http.ratelimit}
"""


def find() -> str | None:
    """The newest that was built."""
    built = sorted(PEERS.glob("daprd-*"))
    return str(built[-1]) if built else None


def environ() -> Mapping[str, str]:
    """The token that every call has to carry."""
    return {"DAPR_API_TOKEN": _TOKEN}


def command(program: str, port: int, redis_port: int, folder: Path) -> Sequence[str]:
    """Runs alone: state needs neither placement nor scheduler."""
    components = folder / "components"
    components.mkdir(exist_ok=True)
    (components / "all.yaml").write_text(_COMPONENTS.format(redis_port=redis_port))
    configuration = folder / "daprd.yaml"
    configuration.write_text(_CONFIGURATION)
    options = {
        "app-id": "bench",
        "dapr-http-port": port,
        "dapr-grpc-port": free_port(),
        "dapr-internal-grpc-port": free_port(),
        "metrics-port": free_port(),
        "dapr-listen-addresses": "127.0.0.1",
        "resources-path": components,
        "config": configuration,
        "log-level": "error",
    }
    return [program, *(part for name, value in options.items() for part in (f"--{name}", str(value)))]


def exchanges(port: int, operation: str) -> list[Exchange]:
    """A put is a list of one; a get answers the value as it is."""
    fields = f"Host: 127.0.0.1:{port}\r\ndapr-api-token: {_TOKEN}\r\n".encode()
    path = b"/v1.0/state/statestore"
    if operation == "get":
        return [Exchange(b"GET %b/%b HTTP/1.1\r\n%b\r\n" % (path, key, fields), VALUE) for key in KEYS]
    return [_put(path, fields, b'[{"key":"%b","value":%b}]' % (key, VALUE)) for key in KEYS]


def _put(path: bytes, fields: bytes, body: bytes) -> Exchange:
    head = b"POST %b HTTP/1.1\r\n%bContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    return Exchange(head % (path, fields, len(body)) + body, b"", b"204")
