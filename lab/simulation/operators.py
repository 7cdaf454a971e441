"""Operators of a simulated region: they change apps and tables through any replica."""

import asyncio
import json
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateway.domain.model import Environment
from lab.simulation.callers import GET, Caller
from lab.simulation.ledger import Status
from lab.simulation.records import CAUSE
from lab.simulation.replica import SimulatedReplica
from lab.simulation.tenants import Issued
from tests.support.config import CONTROL_TOKEN
from tests.support.wire import WireReply, head, read_reply

if TYPE_CHECKING:
    from lab.simulation.directories import Directories

ANSWER_SECONDS = 30.0
LIST_LIMIT = 1000
TABLES = ("table_0", "table_1")
DONE, REFUSED, UNKNOWN = "done", "refused", "unknown"


@dataclass(eq=False)
class RequestedChange:
    """A change requested by an operator, and its answer."""

    action: str
    environment: Environment
    sent: float
    outcome: str = UNKNOWN
    answered: float | None = None
    token: Issued | None = None


class Operator:
    """Requests one change after the other."""

    def __init__(self, region: "Directories", dice: random.Random) -> None:
        self._region, self._dice = region, dice
        self._loop = asyncio.get_running_loop()

    async def run(self, until: float) -> None:
        while self._loop.time() < until:
            await asyncio.sleep(self._dice.expovariate(1 / 2))
            await self.change(*self._draw())
            if self._dice.random() < 0.1:
                await self.list_apps()

    async def change(
        self, action: str, environment: Environment, table: str = TABLES[0]
    ) -> RequestedChange | None:
        """Requests a change at any replica; None if there is no replica."""
        replica = self._region.fleet.draw(self._dice)
        if replica is None:
            return None
        change = RequestedChange(action, environment, self._loop.time())
        self._region.will_change(replica)
        elsewhere = self._region.fleet.draw(self._dice)
        witness = asyncio.ensure_future(self._witness(self._dice.choice((replica, elsewhere)), environment))
        CAUSE.set(change)
        reply = await self._ask(replica, *self._request(action, environment, table))
        if reply is not None:
            change.answered, change.outcome = self._loop.time(), _outcome(reply)
            token = reply.json.get("token") if change.outcome == DONE and reply.body else None
            change.token = token and Issued(environment, token, change.answered)
        self._region.was_changed(change, replica, reply)
        await witness
        if self._dice.random() < 0.5:
            await self._witness(replica, environment)
        return change

    async def _witness(self, replica: SimulatedReplica, environment: Environment) -> None:
        """Calls with one of the app's tokens during the change and right after it."""
        tokens = [each for each in self._region.issued if each.environment == environment]
        await asyncio.sleep(self._dice.expovariate(1 / replica.network.lag))
        if tokens and replica.takes_connections:
            caller = Caller(self._region, self._dice)
            await caller.call(replica, self._dice.choice(tokens[-2:]), GET)
            caller.hang_up()

    async def list_apps(self) -> None:
        """Lists the apps; every app with a readable record must appear."""
        replica = self._region.fleet.draw(self._dice)
        if replica is not None:
            sent = self._loop.time()
            reply = await self._ask(replica, "GET", f"/v1/orgs/acme/apps?limit={LIST_LIMIT}", b"")
            if reply is not None:
                self._region.was_listed(replica, reply, sent)

    async def _ask(self, replica: SimulatedReplica, method: str, path: str, body: bytes) -> WireReply | None:
        end = replica.connect_to_control()
        fields = {
            "Host": "localhost",
            "Authorization": f"Bearer {CONTROL_TOKEN}",
            "Content-Length": len(body),
        }
        end.send(head(path, fields.items(), method=method) + body)
        try:
            return await read_reply(end.client, ANSWER_SECONDS)
        except (EOFError, ConnectionError):
            return None
        except TimeoutError:
            self._region.wrong(f"{method} {path} was not answered within {ANSWER_SECONDS} s")
            return None
        finally:
            end.leave()

    def _request(self, action: str, environment: Environment, table: str) -> tuple[str, str, bytes]:
        app = f"/v1/orgs/{environment.org}/apps/{environment.app}"
        tables = f"{app}/services/kvs/tables"
        overlap = {"overlap_seconds": self._dice.choice((0, 0, 5))}
        fields: dict[str, tuple[str, str, dict[str, object]]] = {
            "register": ("PUT", app, {"type": "api"}),
            "suspend": ("POST", f"{app}/suspend", {}),
            "resume": ("POST", f"{app}/resume", {}),
            "remove": ("DELETE", app, {}),
            "create": ("POST", tables, {"name": table}),
            "rotate": ("POST", f"{tables}/{table}/rotate", overlap),
            "delete": ("DELETE", f"{tables}/{table}", {}),
        }
        method, path, body = fields[action]
        return method, path, json.dumps(body).encode() if body else b""

    def _draw(self) -> tuple[str, Environment, str]:
        """Draws a change, mostly one that is possible."""
        environment, table = self._dice.choice(self._region.apps), self._dice.choice(TABLES)
        app = self._region.ledger.versions(environment)[-1]
        if app.is_readable and self._dice.random() < 0.8:
            if not app.is_there:
                return "register", environment, table
            if not app.tables:
                return "create", environment, table
            if Status.INACTIVE in app.statuses.values():
                return "resume", environment, table
        actions = ("register", "create", "rotate", "suspend", "resume", "delete", "remove")
        return self._dice.choices(actions, (1, 5, 6, 2, 1, 2, 1))[0], environment, table


def _outcome(reply: WireReply) -> str:
    if reply.status < 300:
        return DONE
    is_unknown = reply.status == 503 and "not known" in reply.headers.get("x-kvs-error-detail", "")
    return UNKNOWN if is_unknown else REFUSED
