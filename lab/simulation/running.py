"""Runs many seeds and collects faults, disasters, and answers by status."""

import logging
import multiprocessing
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Protocol
from unittest.mock import patch

from gateway.directory import tokens
from gateway.directory.apps import changes, directory
from lab.simulation.loop import run_in_no_time
from tests.support.evidence import note_statuses

SEEDS_AT_ONCE = 100

Summary = tuple[list[str], Counter[str], Counter[int]]


class World(Protocol):
    """The simulation of one seed."""

    faults: list[str]
    happened: Counter[str]
    statuses: Counter[int]
    unanswered: int

    async def run(self) -> None: ...


def simulate(build: Callable[[], World], seed: int) -> World:
    """Simulates one seed, which also determines secrets. `build` runs inside the loop.

    The log is off: faults are frequent and expected, and the log lines have their own tests.
    """

    async def whole() -> World:
        world = build()
        await world.run()
        return world

    random.seed(seed)
    with (
        patch.object(tokens, "randbits", random.getrandbits),
        patch.object(directory, "token_hex", _token_hex),
        patch.object(changes, "token_hex", _token_hex),
        _without_log(),
    ):
        return run_in_no_time(whole())


def simulate_all(simulate_one: Callable[[int], World], command: str, seeds: Sequence[int]) -> Summary:
    """Simulates seeds. `command` has a place for the seed; status 0 counts missing answers."""
    wrong: list[str] = []
    happened: Counter[str] = Counter()
    statuses: Counter[int] = Counter()
    for seed in seeds:
        try:
            world = simulate_one(seed)
        except Exception as fault:
            raise AssertionError(command.format(seed)) from fault
        wrong += [f"{fault} ({command.format(seed)})" for fault in world.faults]
        happened += world.happened
        statuses += world.statuses + Counter({0: world.unanswered})
    return wrong, happened, statuses


def assert_nothing_is_wrong(
    seeds: Sequence[int], summaries: Sequence[Summary]
) -> tuple[Counter[str], Counter[int]]:
    """Asserts and notes for the table of faults. Returns disasters, and answers by status."""
    happened = sum((summary[1] for summary in summaries), Counter())
    statuses = sum((summary[2] for summary in summaries), Counter())
    note_statuses(statuses, faults=happened, tried=len(seeds))
    assert [fault for summary in summaries for fault in summary[0]] == []
    return happened, statuses


def assert_served_and_refused(seeds: Sequence[int], summaries: Sequence[Summary]) -> None:
    """Asserts that nothing is wrong and, of more than one seed, that calls were served and refused."""
    for wrong, happened, statuses in summaries:
        note_statuses(statuses, faults=happened, tried=0)
        assert wrong == []
        assert len(seeds) == 1 or min(statuses[200], statuses[503]) > 0


def in_processes(work: Callable[[Sequence[int]], Summary], seeds: Sequence[int]) -> list[Summary]:
    """Distributes seeds over all cores."""
    parts = [seeds[start : start + SEEDS_AT_ONCE] for start in range(0, len(seeds), SEEDS_AT_ONCE)]
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        return list(pool.map(work, parts))


def first_wrong(work: Callable[[Sequence[int]], Summary], seeds: Sequence[int]) -> list[str]:
    """Returns the faults of the first seed with any; an exception counts as a fault."""
    for seed in seeds:
        try:
            wrong = work([seed])[0]
        except AssertionError as fault:
            wrong = [str(fault)]
        if wrong:
            return wrong
    return []


@contextmanager
def _without_log() -> Iterator[None]:
    logging.disable()
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def _token_hex(size: int) -> str:
    return random.getrandbits(8 * size).to_bytes(size).hex()
