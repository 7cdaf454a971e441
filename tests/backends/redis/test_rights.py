"""The rights that the documents give the Redis user are those that the adapter needs."""

import re

from tests.support.redis.tls import COMMANDS
from tests.support.repository import ROOT

SOURCES = [
    path for path in sorted((ROOT / "backends" / "redis").rglob("*")) if path.suffix in {".py", ".lua"}
]
SENT = re.compile(r"""(?:call\('|pack\(\s*"|prepare\(\s*"|_encoded\(\(b"|_read\(")([A-Z]+)""")
BY_SENTINELS = {"SENTINEL"}


def test_the_documented_rights_are_exactly_the_commands_of_the_adapter():
    sent = {command for path in SOURCES for command in SENT.findall(path.read_text())}
    documented = {command.upper().partition("|")[0] for command in COMMANDS}
    assert documented == sent - BY_SENTINELS
