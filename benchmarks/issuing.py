"""CPU of the gateway per credential that a workload fetches over HTTP, with tokens that it has seen before.

Also a program of its own: `python -m benchmarks.issuing`.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import time
from typing import Any
from urllib.parse import urlencode

import jwt
import msgspec
import yaml
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm
from msgspec import Struct

from benchmarks.exchange import Exchange
from benchmarks.gateways import ON_MEMORY, ConfigFile, running_file
from benchmarks.generators import measure_throughput
from benchmarks.plan import Plan, chosen_plan
from benchmarks.processes import Server, free_port
from benchmarks.signed import gateway_config
from benchmarks.tables import number, spread, table

LEAST_PER_SECOND = 2000
"""Credentials on one core: what the service promises."""

ISSUING = """\
One replica; over 64 connections, with 256 tokens that were verified before and are remembered, and the audit
line of each credential written. A core's worth is a second divided by the CPU time of one credential."""

_TOKENS = 256
_ROLE = "arn:aws:iam::123456789012:role/managed-app-bench"
_ISSUER, _AUDIENCE, _SUBJECT = "https://issuer.example.com", "kvs-gateway", "system:serviceaccount:o:a"
_OWN_TOKEN = "bench-workload-token"
_PLACE = {"role": _ROLE, "org": "o", "app": "a"}
_UNBOUNDED = 1_000_000_000
_FIRST_SECONDS = 0.1
"""In which each token is verified for the first time, however long that takes."""


class Issuing(Struct, frozen=True):
    """One way to ask: in each round credentials per second and CPU, in µs, of each."""

    way: str
    per_second: list[float]
    cpu_microseconds: list[float]

    @property
    def per_core_second(self) -> float:
        """Credentials per second that a core can issue if it does nothing else."""
        return 1e6 / median(self.cpu_microseconds)


def measure_issuing(folder: Path, plan: Plan) -> list[Issuing]:
    """Every way in turn, in each round."""
    private = ec.generate_private_key(ec.SECP256R1())
    tokens = [_vouch(private, number) for number in range(_TOKENS)]
    ways = {
        "web identity, a JWT": [_web_identity(token) for token in tokens],
        "container endpoint, a JWT": [_container(token) for token in tokens],
        "container endpoint, a configured token": [_container(_OWN_TOKEN)] * _TOKENS,
    }
    measured = {way: Issuing(way, [], []) for way in ways}
    with _running(folder, private) as server:
        for exchanges in ways.values():
            measure_throughput(server, exchanges, _FIRST_SECONDS)
        for _ in range(plan.rounds):
            for way, exchanges in ways.items():
                closed = measure_throughput(server, exchanges, plan.closed_seconds)
                measured[way].per_second.append(closed.per_second)
                measured[way].cpu_microseconds.append(closed.cpu_microseconds)
    return list(measured.values())


def issuing_table(measured: list[Issuing]) -> str:
    """One line for each way."""
    rows = [
        [
            each.way,
            number(median(each.per_second)),
            spread(each.cpu_microseconds, 0),
            number(each.per_core_second),
            "yes" if each.per_core_second >= LEAST_PER_SECOND else "no",
        ]
        for each in measured
    ]
    heads = ["asked by", "credentials/s", "CPU, µs (min to max)", "of a core, /s", f"≥ {LEAST_PER_SECOND:,}"]
    return table(heads, rows)


@contextmanager
def _running(folder: Path, private: ec.EllipticCurvePrivateKey) -> Iterator[Server]:
    """A gateway whose port is that of its credentials listener."""
    keys, file = folder / "issuing-keys.json", folder / "issuing.yaml"
    key = ECAlgorithm.to_jwk(private.public_key(), as_dict=True) | {"kid": "bench"}
    keys.write_bytes(msgspec.json.encode({"keys": [key]}))
    port, ops_port = free_port(), free_port()
    config: dict[str, Any] = gateway_config(free_port(), ops_port, ON_MEMORY)
    config["listen"]["credentials"] = {"port": port, "requests_per_minute_per_address": _UNBOUNDED}
    config["signature"]["credentials"]["session"] = {"master_keys": ["bench-master-key-of-32-characters-"]}
    trusted = {"issuer": _ISSUER, "audience": _AUDIENCE, "jwks": str(keys)}
    config["workloads"] = [
        {**trusted, "subjects": [{"subject": _SUBJECT, **_PLACE}]},
        {"tokens": [{"token": _OWN_TOKEN, **_PLACE}]},
    ]
    file.write_text(yaml.safe_dump(config))
    with running_file(ConfigFile(file, port, ops_port, control_port=0)) as server:
        yield server


def _vouch(private: ec.EllipticCurvePrivateKey, number: int) -> str:
    claims = {"iss": _ISSUER, "aud": _AUDIENCE, "sub": _SUBJECT, "exp": time() + 3600, "jti": str(number)}
    return jwt.encode(claims, private, "ES256", headers={"kid": "bench"})


def _web_identity(token: str) -> Exchange:
    form = {
        "Action": "AssumeRoleWithWebIdentity",
        "Version": "2011-06-15",
        "RoleArn": _ROLE,
        "RoleSessionName": "bench",
        "WebIdentityToken": token,
    }
    body = urlencode(form).encode()
    kind = b"Content-Type: application/x-www-form-urlencoded"
    head = b"POST / HTTP/1.1\r\nHost: localhost\r\n%b\r\nContent-Length: %d\r\n\r\n" % (kind, len(body))
    return Exchange(head + body, b"<AssumeRoleWithWebIdentityResponse ", is_whole=False)


def _container(token: str) -> Exchange:
    head = f"GET /v1/credentials/container HTTP/1.1\r\nHost: localhost\r\nAuthorization: {token}\r\n\r\n"
    return Exchange(head.encode(), b'{"AccessKeyId":"ASIA', is_whole=False)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        print(issuing_table(measure_issuing(Path(name), chosen_plan())))
