"""A purge from its first step to its last."""

from backends.interface import EntryStore, Keyspace, PurgeStep


async def purge(entries: EntryStore, *keyspaces: Keyspace) -> list[PurgeStep]:
    """All steps that it took."""
    steps = [await entries.purge(keyspaces, None)]
    while steps[-1].cursor is not None:
        steps.append(await entries.purge(keyspaces, steps[-1].cursor))
    return steps
