"""Figures that several measurements share."""

from msgspec import Struct


class Closed(Struct, frozen=True):
    """Requests per second, CPU of the processes per request, and how many were `answered` since the start."""

    per_second: float
    cpu_microseconds: float
    answered: int
