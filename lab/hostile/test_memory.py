"""Design, HTTP edge: what unauthenticated clients can have a replica hold is bounded, and how much it is."""

import pytest

from lab.hostile.crowd import Behaviour, Crowd
from lab.hostile.watch import Watch
from tests.support.wire import until

PATIENT = {"head_seconds": 60, "body_seconds": 60, "idle_seconds": 60, "write_seconds": 60}
BEGUN = "POST /v1/put HTTP/1.1\r\nHost: x\r\n"
WHOLE_BODY = BEGUN + "Content-Length: 100000\r\n\r\n" + "x" * 100_000


def lines(number: int, size: int) -> str:
    return "".join(f"X-{each}: {'y' * size}\r\n" for each in range(number))


@pytest.mark.parametrize(
    ("size", "opening", "most_mib"),
    [
        (1_000, BEGUN + lines(100, 140), 100),
        (1_000, BEGUN + lines(120, 8_000), 100),
        (500, BEGUN + "Transfer-Encoding: chunked\r\n\r\n0\r\n" + lines(110, 8_000), 150),
        (1_200, BEGUN + "Content-Length: 131072\r\n\r\n" + "x" * 131_071, 200),
        (100, WHOLE_BODY * 20, 150),
    ],
    ids=["long heads", "endless heads", "endless trailers", "almost whole bodies", "pipelined bodies"],
)
async def test_received_bytes_are_not_kept_without_bound(start, size, opening, most_mib):
    """The crowds send 14, 917, 420, 150 and 191 MiB.

    Of trailers 128 KiB are read for each client before it is refused: 62 MiB for 500 at once, and as much
    again as the allocator has not given back, which is a matter of timing.
    """
    process = start(edge=PATIENT)
    async with Watch(process) as watch, Crowd(process.urls["data"], size, Behaviour(opening)):
        probed = watch.probes
        await until(lambda: watch.probes > probed + 8)

    assert watch.grown_mib < most_mib
    assert watch.failed_probes == []
