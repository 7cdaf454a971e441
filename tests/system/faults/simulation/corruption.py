"""Somebody writes past the gateway: into documents, pointers and intents."""

import random

from gateway.domain.model import Environment
from tests.system.faults.simulation.records import StoreRecords
from tests.system.faults.simulation.tenants import tables_in

CORRUPTION = "corruption"


class Corruption:
    """`apps` were corrupt once; the entries of `lost_tables` cannot be found any more, by nobody (D135)."""

    def __init__(self, records: StoreRecords) -> None:
        self._records = records
        self.apps: set[Environment] = set()
        self.lost_tables: set[str] = set()

    async def corrupt(self, dice: random.Random) -> None:
        """One record of the kind that chance wants, if there is one that was written since the beginning."""
        prefix = dice.choice(("app/", "app/", "token/", "reclaim/"))
        written = sorted({swap.name for swap in self._records.swaps if swap.name.startswith(prefix)})
        name = dice.choice(written) if written else ""
        record = await self._records.read(name)
        if record is None:
            return
        document = dice.choice((b"", b"\xff\x00", b"{}", record.document[:-1], b"[" + record.document))
        if prefix == "app/":
            self._note_what_is_lost(name, record.document, document)
        await self._records.overwrite(name, document, CORRUPTION)

    def _note_what_is_lost(self, name: str, before: bytes, after: bytes) -> None:
        self.apps.add(Environment(*name.removeprefix("app/").split("/")))
        try:
            tables = {str(table["id"]) for table in tables_in(before)}
        except (ValueError, KeyError, TypeError):
            return  # corrupt already
        self.lost_tables |= {table for table in tables if table.encode() not in after}
