"""The picture of a run: requests per second, and latencies by percentile at each fixed rate."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.servers import OPERATIONS, Rounds

_SHARES = (0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999)


def draw(measured: Sequence[Rounds], rates: Sequence[int], file: Path) -> None:
    """An SVG of the servers that were measured, the same for the same figures."""
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "bench", "font.size": 9})
    able = [rounds for rounds in measured if rounds.closed["put"]]
    figure = Figure(figsize=(11, 3.2 + 3.2 * len(rates)), layout="constrained")
    panels = figure.subplots(1 + len(rates), 1)
    _draw_throughput(panels[0], able)
    for panel, rate in zip(panels[1:], rates, strict=True):
        _draw_latency(panel, able, rate)
    figure.savefig(file, format="svg", metadata={"Date": None})


def _draw_throughput(panel: Axes, measured: Sequence[Rounds]) -> None:
    height = 0.8 / len(OPERATIONS)
    for place, operation in enumerate(OPERATIONS):
        rates = [rounds.per_second(operation) or 0.0 for rounds in measured]
        positions = [row + place * height for row in range(len(measured))]
        panel.barh(positions, rates, height, label=operation)
    panel.set_yticks([row + height / 2 for row in range(len(measured))], [each.name for each in measured])
    panel.invert_yaxis()
    panel.set_xlabel("requests per second on one core, values of 1 KiB")
    panel.legend()


def _draw_latency(panel: Axes, measured: Sequence[Rounds], rate: int) -> None:
    for rounds in measured:
        latencies = [rounds.milliseconds(rate, share) for share in _SHARES]
        found = [each for each in latencies if each is not None]
        if len(found) == len(_SHARES):
            panel.plot([1 / (1 - share) for share in _SHARES], found, marker=".", label=rounds.name)
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xticks([1 / (1 - share) for share in _SHARES], [f"{share:.1%}" for share in _SHARES])
    panel.minorticks_off()
    panel.set_xlabel(f"share of requests at {rate:,} per second")
    panel.set_ylabel("ms, from when due")
    panel.grid(visible=True, alpha=0.3)
    if panel.get_legend_handles_labels()[0]:
        panel.legend(fontsize=7)
