"""A small endpoint that gives scripted answers, or lets a real engine answer and spoils what comes back."""

import asyncio
import json
import random
import socket
import struct
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from email.utils import formatdate
from typing import Any, Self

import aiohttp
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from backends.clock import SystemClock
from tests.support.accepting import stop_accepting
from tests.support.dynamodb.answers import JSON, Answer, Ending, refusal
from tests.support.dynamodb.signature import verify_signature

HOST = "127.0.0.1"
_NO_LINGER = struct.pack("ii", 1, 0)
_NOW_MS = SystemClock().wall_ms
_END_OF_HEAD = b"\r\n\r\n"


@dataclass(frozen=True)
class Call:
    """A request as it came; header names are in lower case."""

    operation: str
    """From X-Amz-Target, as `GetItem`; where there is none, method and path, as `GET /credentials`."""
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    connection: int
    at_seconds: float
    """On the loop's clock, when the request was complete."""

    @property
    def payload(self) -> Any:
        return json.loads(self.body)

    def verify_signature(self, credentials: Credentials, region: str) -> None:
        """Asserts that the request is signed as botocore would sign it."""
        request = AWSRequest(self.method, f"http://{self.headers['host']}{self.path}", data=self.body)
        verify_signature(request, self.headers, credentials, region)


Forward = Callable[[], Awaitable[Answer]]
Step = Answer | Callable[[Call, Forward], Awaitable[Answer]]
"""Reaction to a call. A plain answer keeps the call from the engine, so nothing is applied."""


def after_it_was_applied(spoil: Callable[[Answer], Answer]) -> Step:
    """The engine does what it was asked to do, and its answer is spoiled."""

    async def step(_: Call, forward: Forward) -> Answer:
        return spoil(await forward())

    return step


async def pass_on(_: Call, forward: Forward) -> Answer:
    return await forward()


class ScriptedEndpoint:
    """Listens on the loop it is entered in. A call takes the next step scripted for its operation, else one
    that is scattered over all calls, else what `always` says for it, else it goes to the engine.

    A call that nothing was said about fails the test when the endpoint closes.
    """

    def __init__(self, engine_url: str | None = None, wall_ms: Callable[[], int] | None = _NOW_MS) -> None:
        """`wall_ms` dates what it answers; None: nothing is dated."""
        self._wall_ms = wall_ms
        self.calls: list[Call] = []
        self.connections = 0
        self._engine_url = engine_url
        self._port = 0
        self._queues: dict[str, deque[Step]] = defaultdict(deque)
        self._defaults: dict[str, Step] = {}
        self._scattered: tuple[Sequence[Step], float, random.Random] = ((), 0.0, random.Random(0))
        self._unexpected: list[str] = []
        self._resources = AsyncExitStack()
        self._carriers: set[asyncio.Task[None]] = set()

    @property
    def endpoint_url(self) -> str:
        return f"http://{HOST}:{self._port}"

    def script(self, operation: str, *steps: Step) -> None:
        """For the next calls of this operation, one each."""
        self._queues[operation].extend(steps)

    def always(self, operation: str, step: Step) -> None:
        self._defaults[operation] = step

    def scatter(self, *steps: Step, probability: float, seed: int) -> None:
        """One of the steps, with this probability, at each call of any operation."""
        self._scattered = (steps, probability, random.Random(seed))

    def of(self, operation: str) -> list[Call]:
        return [call for call in self.calls if call.operation == operation]

    async def __aenter__(self) -> Self:
        async with self._resources as resources:
            if self._engine_url is not None:
                self._session = await resources.enter_async_context(aiohttp.ClientSession())
            resources.push_async_callback(self._end_carriers)
            listener = await asyncio.start_server(self._carry, HOST, self._port)
            resources.push_async_callback(stop_accepting, listener)
            self._port = listener.sockets[0].getsockname()[1]
            self._resources = resources.pop_all()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        await self._resources.aclose()
        assert kind or not self._unexpected, f"nothing was said about {self._unexpected}"

    async def _end_carriers(self) -> None:
        for carrier in self._carriers:
            carrier.cancel()
        if self._carriers:
            await asyncio.wait(self._carriers)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        carrier = asyncio.current_task()
        self._carriers.add(carrier)
        self.connections += 1
        connection = self.connections
        try:
            while (call := await _read_call(reader, connection)) is not None:
                self.calls.append(call)
                if not await _send(self._dated(await self._answer_to(call)), writer):
                    return
        except (ConnectionError, asyncio.CancelledError):
            writer.transport.abort()  # the client went away, or the test is over
        finally:
            writer.close()
            self._carriers.discard(carrier)

    async def _answer_to(self, call: Call) -> Answer:
        step = self._step_for(call.operation)
        if isinstance(step, Answer):
            return step
        return await step(call, lambda: self._forward(call))

    def _dated(self, answer: Answer) -> Answer:
        if self._wall_ms is None or answer.date is not None:
            return answer
        return replace(answer, date=formatdate(self._wall_ms() // 1000, usegmt=True))

    def _step_for(self, operation: str) -> Step:
        if queue := self._queues[operation]:
            return queue.popleft()
        steps, probability, dice = self._scattered
        if steps and dice.random() < probability:
            return dice.choice(steps)
        return self._defaults.get(operation, pass_on)

    async def _forward(self, call: Call) -> Answer:
        if self._engine_url is None:
            self._unexpected.append(call.operation)
            return refusal("UnknownOperationException", message="nothing was said about this call")
        headers = {name: value for name, value in call.headers.items() if name != "host"}
        async with self._session.request(
            call.method, self._engine_url + call.path, data=call.body, headers=headers
        ) as reply:
            crc32 = reply.headers.get("x-amz-crc32")
            return Answer(
                await reply.read(),
                reply.status,
                reply.headers.get("Content-Type", JSON),
                None if crc32 is None else int(crc32),
            )


async def _read_call(reader: asyncio.StreamReader, connection: int) -> Call | None:
    try:
        head = await reader.readuntil(_END_OF_HEAD)
    except asyncio.IncompleteReadError as ended:
        if ended.partial:
            raise ConnectionResetError from None
        return None
    first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    assert "transfer-encoding" not in headers, "DynamoDB wants to know the length"
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    target = headers.get("x-amz-target")
    operation = target.rpartition(".")[2] if target else f"{method} {path}"
    return Call(operation, method, path, headers, body, connection, asyncio.get_running_loop().time())


async def _send(answer: Answer, writer: asyncio.StreamWriter) -> bool:
    """Returns whether the connection takes another call."""
    await asyncio.sleep(answer.delay_s)
    sent = answer.body if answer.sent_bytes is None else answer.body[: answer.sent_bytes]
    whole = sent if answer.raw else answer.head + sent
    if answer.pause_at is not None:
        rest = len(answer.body) - answer.pause_at
        writer.write(whole[:-rest])
        await asyncio.sleep(answer.pause_s)
        whole = whole[-rest:]
    writer.write(whole)
    await writer.drain()
    if answer.ending is Ending.RESET:
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        writer.transport.abort()
    return answer.ending is Ending.KEEP
