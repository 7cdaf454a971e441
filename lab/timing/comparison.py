"""Whether two kinds of calls differ in time, judged beside a control: each kind against itself.

A round makes one call of each kind anew, so that where its objects lie in memory differs from round to round,
and makes both many times, in random order, so that what slows the machine down slows both. Of a round's times
the slowest tenth is left out (of all together, so that it favours none). What is judged are the differences
of the rounds, by Student's t: beyond 4.5 is a suspicion by the custom of timing tests, beyond 10 a finding.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import fmean, median, stdev
from time import perf_counter_ns

KEPT_SHARE = 0.9
FINDING_T = 10.0
SAMPLES_PER_ROUND = 100
WARM_UP = 20

Attempt = Callable[[], object]
Pair = tuple[Attempt, Attempt]


@dataclass(frozen=True)
class Comparison:
    """Medians in ns; `t` of the two kinds, and `control_t` of a kind against itself, the larger of both."""

    first_ns: float
    second_ns: float
    difference_ns: float
    t: float
    control_t: float

    @property
    def differs(self) -> bool:
        """Beyond what a finding is, and beyond what the control shows to be noise."""
        return abs(self.t) > max(FINDING_T, 3 * abs(self.control_t))


def compare(make_pair: Callable[[], Pair], samples: int) -> Comparison:
    """`samples` of each kind, in rounds of 100."""
    chance = random.Random(samples)
    rounds = [_round(make_pair(), chance) for _ in range(samples // SAMPLES_PER_ROUND)]
    firsts, seconds, first_controls, second_controls = zip(*rounds, strict=True)
    differences = _differences(firsts, seconds)
    return Comparison(
        first_ns=median(firsts),
        second_ns=median(seconds),
        difference_ns=fmean(differences),
        t=_t(differences),
        control_t=max(
            _t(_differences(firsts, first_controls)), _t(_differences(seconds, second_controls)), key=abs
        ),
    )


def _round(pair: Pair, chance: random.Random) -> list[float]:
    """The mean of each call, then of each as its own control."""
    attempts = (*pair, *pair)
    for attempt in attempts * WARM_UP:
        attempt()
    times: list[list[int]] = [[] for _ in attempts]
    for number in _in_random_order(len(attempts), chance):
        began = perf_counter_ns()
        attempts[number]()
        times[number].append(perf_counter_ns() - began)
    pooled = sorted(each for group in times for each in group)
    longest = pooled[int(len(pooled) * KEPT_SHARE)]
    return [fmean(each for each in group if each <= longest) for group in times]


def _in_random_order(count: int, chance: random.Random) -> Iterator[int]:
    order = list(range(count))
    for _ in range(SAMPLES_PER_ROUND):
        chance.shuffle(order)
        yield from order


def _differences(firsts: tuple[float, ...], seconds: tuple[float, ...]) -> list[float]:
    return [second - first for first, second in zip(firsts, seconds, strict=True)]


def _t(differences: list[float]) -> float:
    error = stdev(differences) / len(differences) ** 0.5
    return fmean(differences) / error if error else 0.0
