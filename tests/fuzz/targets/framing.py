"""Any bytes as the input of one connection, in packets."""

from gateway.config.settings import EdgeSettings
from tests.fuzz.targets.coroutines import result_of
from tests.support.piecewise import play

_EDGE = EdgeSettings()


def framing(data: bytes) -> None:
    """First byte: where the rest is cut, 0 for nowhere. A strict parser agrees on what was executed."""
    sent = data[1:]
    every = data[0] if data else 0
    packets = [sent[at : at + every] for at in range(0, len(sent), every)] if every else [sent]
    result_of(play(packets, _EDGE)).assert_agrees(sent)
