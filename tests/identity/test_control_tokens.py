"""Control tokens and their bearers."""

from gateway.identity import callers
from gateway.identity.callers import ControlTokens
from gateway.identity.permissions import Identity

BEARERS = [(f"control-token-{number}", Identity(f"bearer-{number}", ())) for number in range(5)]


def test_each_token_resolves_to_its_bearer():
    tokens = ControlTokens(BEARERS)
    for token, identity in BEARERS:
        assert tokens.find(token.encode()) is identity


def test_a_non_ascii_token_is_compared_as_bytes():
    assert ControlTokens([("geheim-übermäßig", BEARERS[0][1])]).find("geheim-übermäßig".encode())
    assert ControlTokens(BEARERS).find(b"\xff\xfe") is None


def test_every_token_is_compared_with_all_known_tokens(monkeypatch):
    compared = []

    def compare(sent, known):
        compared.append(len(sent) == len(known) == 32)
        return sent == known

    monkeypatch.setattr(callers, "compare_digest", compare)
    tokens = ControlTokens(BEARERS)
    for token in (b"", b"x" * 1000, *(token.encode() for token, _ in BEARERS)):
        compared.clear()
        tokens.find(token)
        assert compared == [True] * len(BEARERS)
