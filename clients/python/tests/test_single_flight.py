"""Concurrent callers share one computation; cancelling one does not affect the others."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from kvs_client.single_flight import AsyncSingleFlight, SingleFlight


def test_concurrent_threads_get_the_same_object():
    flight, made, may_end = SingleFlight(), [], threading.Event()

    def make():
        made.append(object())
        may_end.wait()
        return made[-1]

    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(flight.run, "k", make) for _ in range(8)]
        threading.Timer(0.05, may_end.set).start()
        assert {each.result() for each in asked} <= set(made)


def test_next_call_computes_again_after_an_error():
    flight = SingleFlight()
    with pytest.raises(ZeroDivisionError):
        flight.run("k", lambda: 1 // 0)
    assert flight.run("k", lambda: 2) == 2


def test_waiter_takes_over_from_an_interrupted_thread():
    flight, first_is_in, may_end = SingleFlight(), threading.Event(), threading.Event()

    def interrupted():
        first_is_in.set()
        may_end.wait()
        raise KeyboardInterrupt

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(flight.run, "k", interrupted)
        first_is_in.wait()
        second = pool.submit(flight.run, "k", lambda: "made")
        may_end.set()
        assert second.result() == "made"
        assert isinstance(first.exception(), KeyboardInterrupt)


async def test_cancelled_task_does_not_end_the_computation():
    flight, may_end = AsyncSingleFlight(), asyncio.Event()

    async def make():
        await may_end.wait()
        return "made"

    leaving, staying = (asyncio.create_task(flight.run("k", make)) for _ in range(2))
    await asyncio.sleep(0)
    leaving.cancel()
    await asyncio.sleep(0)
    may_end.set()
    assert await staying == "made"
    assert leaving.cancelled()
