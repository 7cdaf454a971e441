"""One making of a value at a time; who leaves takes it from nobody."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from kvs_client.single_flight import AsyncSingleFlight, SingleFlight


def test_threads_that_ask_meanwhile_get_the_same_object():
    flight, made, may_end = SingleFlight(), [], threading.Event()

    def make():
        made.append(object())
        may_end.wait()
        return made[-1]

    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(flight.run, "k", make) for _ in range(8)]
        threading.Timer(0.05, may_end.set).start()
        assert {each.result() for each in asked} <= set(made)


def test_an_error_reaches_the_one_who_made_and_the_next_makes_again():
    flight = SingleFlight()
    with pytest.raises(ZeroDivisionError):
        flight.run("k", lambda: 1 // 0)
    assert flight.run("k", lambda: 2) == 2


def test_one_who_is_interrupted_leaves_the_making_to_another():
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


async def test_a_task_that_leaves_does_not_end_the_making():
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
