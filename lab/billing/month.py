"""`python -m lab.billing.month`: how long `kvs-gateway usage` takes over a month of a large region.

Of 100,000 tables 10,000 are called in the month, each in four bursts; two replicas, scraped every minute,
replaced once a week. One line of JSON is printed.
"""

import json
import os
import random
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from lab.billing.generated import DAY_MS, HOUR_MS, MINUTE_MS, Call, Region, Server

DAYS, TABLES, ACTIVE, BURSTS = 30, 100_000, 10_000, 4
SERVER = Server("prometheus", interval_ms=MINUTE_MS, offset_ms=1_000)


def month_of_calls(start_ms: int) -> list[Call]:
    chance = random.Random(1)
    return [
        Call(start_ms + at_ms + 100 * number, chance.randrange(2), table)
        for table in chance.sample(range(TABLES), ACTIVE)
        for at_ms in (chance.randrange(DAYS * DAY_MS - HOUR_MS) for _ in range(BURSTS))
        for number in range(chance.randint(1, 8))
    ]


def main() -> None:
    """Generate, read, compare, print."""
    end_ms = int(time.time()) // 86_400 * DAY_MS - DAY_MS
    start_ms = end_ms - DAYS * DAY_MS
    restarts = [
        (start_ms + week * 7 * DAY_MS + replica * HOUR_MS, replica)
        for week in (1, 2, 3, 4)
        for replica in (0, 1)
    ]
    with TemporaryDirectory() as folder:
        region = Region(Path(folder), [SERVER], start_ms, restarts=restarts)
        region.play(month_of_calls(start_ms), DAYS * DAY_MS)
        with region.prometheus(SERVER) as prometheus:
            period = [datetime.fromtimestamp(each / 1000, UTC).isoformat() for each in (start_ms, end_ms)]
            command = [sys.executable, "-m", "gateway", "usage", "--prometheus", prometheus.url]
            command += ["--from", period[0], "--to", period[1], "--format", "csv"]
            output = Path(folder) / "usage.csv"
            began = time.monotonic()
            with output.open("w") as file:
                process = subprocess.Popen(command, stdout=file)
                _, status, used = os.wait4(process.pid, 0)
            seconds = time.monotonic() - began
        stated = output.read_text().splitlines()[1:]
    requests = sum(int(line.split(",")[5]) for line in stated)
    if status or requests != region.answered.total():
        raise SystemExit(f"{requests} requests were stated, {region.answered.total()} were answered")
    found = {
        "tables": len(region.answered),
        "samples": region.samples,
        "requests": requests,
        "seconds": seconds,
        "resident_bytes": used.ru_maxrss * 1024,
    }
    sys.stdout.write(f"{json.dumps(found)}\n")


if __name__ == "__main__":
    main()
