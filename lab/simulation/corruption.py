"""Writes past the gateway: into documents, pointers, intents and the lease."""

import random
import re

from gateway.domain.model import Environment
from lab.simulation.records import StoreRecords

CORRUPTION = "corruption"


class Corruption:
    """Corrupts records. `apps` were corrupt once; the entries of `lost_tables` are never purged (D135)."""

    def __init__(self, records: StoreRecords) -> None:
        self._records = records
        self.apps: set[Environment] = set()
        self.lost_tables: set[str] = set()

    async def corrupt(self, dice: random.Random) -> None:
        """Corrupts one record of a random kind, if one was written since the start."""
        prefix = dice.choice(("app/", "app/", "token/", "reclaim/", "lease/"))
        last = {swap.name: swap for swap in self._records.swaps if swap.name.startswith(prefix)}
        there = sorted(name for name, swap in last.items() if swap.document is not None)
        name = dice.choice(there) if there else ""
        record = await self._records.read(name)
        if record is None:
            return
        document = dice.choice((b"", b"\xff\x00", b"{}", record.document[:-1], b"[" + record.document))
        if prefix == "app/":
            self._note_what_is_lost(name, record.document, document)
        if prefix == "reclaim/":
            self.lost_tables.add(name.removeprefix(prefix))
        await self._records.overwrite(name, document, CORRUPTION)

    def _note_what_is_lost(self, name: str, before: bytes, after: bytes) -> None:
        self.apps.add(Environment(*name.removeprefix("app/").split("/")))
        tables = re.findall(rb"t2_[0-9a-f]{32}", before)
        self.lost_tables |= {table.decode() for table in tables if table not in after}
