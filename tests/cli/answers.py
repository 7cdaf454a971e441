"""A server that answers the queries of `kvs-gateway usage` like Prometheus, from given samples."""

import asyncio
import json
import re
import ssl
from contextlib import asynccontextmanager
from itertools import pairwise
from urllib.parse import parse_qs

from tests.support.accepting import stop_accepting

BEGIN = 1_793_491_200
TARGET = {"instance": "10.0.0.1:9090", "job": "kvs"}
TENANT = {"org": "acme", "app": "shop", "env": "production", "table": "sessions", "operation": "get"}
OTHER = dict.fromkeys(("org", "app", "env", "table"), "_other")


def counter(unit: str, *points: tuple[float, str], **labels: str) -> dict:
    metric = {"__name__": f"kvs_usage_{unit}_total", **TENANT, **TARGET, **labels}
    return {"metric": metric, "values": [[BEGIN + seconds, value] for seconds, value in points]}


USED = [
    counter("requests", (-10, "5"), (0, "7"), (60, "10"), (120, "NaN"), (1800, "12"), outcome="ok"),
    counter("requests", (60, "0"), (1800, "1e+06"), outcome="not_found"),
    counter("request_bytes", (60, "120"), (1800, "133")),
]


def starts(*points: tuple[float, float], **labels: str) -> dict:
    metric = {"__name__": "process_start_time_seconds", **TARGET, **labels}
    return {"metric": metric, "values": [[BEGIN + seconds, str(BEGIN + start)] for seconds, start in points]}


class Answers:
    """Answers of the server: computed from series, or always the same."""

    def __init__(self) -> None:
        self.counters: list[dict] = USED
        self.starts: list[dict] = []
        self.gateway = TARGET
        self.always: tuple[int, bytes] | None = None
        self.heads: list[bytes] = []
        self.queries: list[str] = []
        self.with_beginning = True
        """True: a range includes the sample at its start, as in Prometheus 2; False: it does not, as in 3."""

    def to(self, head: bytes, body: bytes) -> tuple[int, bytes]:
        fields = parse_qs(body.decode())
        self.heads.append(head)
        self.queries.append(fields["query"][0])
        if self.always:
            return self.always
        result = self._result(fields)
        return 200, json.dumps(
            {"status": "success", "data": {"resultType": "matrix", "result": result}}
        ).encode()

    def _result(self, fields: dict[str, list[str]]) -> list[dict]:
        query = fields["query"][0]
        if query.startswith("{"):
            return self._within(self.counters, fields)
        if query.startswith("process_start_time_seconds["):
            return self._within(self.starts, fields)
        if query.startswith("count_over_time(kvs_build_info["):
            metric = {"version": "1", **self.gateway}
            return [{"metric": metric, "value": [float(fields["time"][0]), "4"]}]
        if query.startswith("count without"):
            targets = {tuple(_target(each).items()) for each in self._within(self.counters, fields)}
            return [{"metric": dict(each), "value": [0, "1"]} for each in targets]
        if function := re.match(r"(resets|min_over_time|last_over_time)\(", query):
            return self._ends(function[1], fields)
        return []

    def _ends(self, function: str, fields: dict[str, list[str]]) -> list[dict]:
        """Evaluates a function over the counters of a target; other selectors give nothing."""
        equal = dict(re.findall(r'(\w+)="([^"]*)"', fields["query"][0]))
        found = []
        for each in self._within(self.counters, fields):
            if equal.items() >= {"__name__": each["metric"]["__name__"], **_target(each)}.items():
                values = [float(value) for _, value in each["values"] if value != "NaN"]
                resets = sum(later < earlier for earlier, later in pairwise(values))
                value = {"resets": resets, "min_over_time": min(values), "last_over_time": values[-1]}[
                    function
                ]
                if function != "resets" or resets:
                    found.append({"metric": each["metric"], "value": [float(fields["time"][0]), str(value)]})
        return found

    def _within(self, series: list[dict], fields: dict[str, list[str]]) -> list[dict]:
        until = float(fields["time"][0])
        after = until - int(re.search(r"\[(\d+)ms\]", fields["query"][0])[1]) / 1000
        found = []
        for each in series:
            first = after if self.with_beginning else after + 0.001
            values = [point for point in each["values"] if first <= point[0] <= until]
            found += [{**each, "values": values}] if values else []
        return found


def _target(series: dict) -> dict[str, str]:
    """Returns the labels that Prometheus added to those of the gateway."""
    own = {"__name__", *TENANT, "outcome"}
    return {name: value for name, value in series["metric"].items() if name not in own}


@asynccontextmanager
async def answering(tls: ssl.SSLContext | None = None):
    answers = Answers()

    async def answer(reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(re.search(rb"content-length: (\d+)", head.lower())[1])
        status, body = answers.to(head, await reader.readexactly(length))
        writer.write(
            b"HTTP/1.1 %d X\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % (status, len(body)) + body
        )
        await writer.drain()
        writer.close()

    listener = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=tls)
    async with listener:
        port = listener.sockets[0].getsockname()[1]
        answers.url = f"http{'s' if tls else ''}://127.0.0.1:{port}"
        yield answers
        await stop_accepting(listener)
