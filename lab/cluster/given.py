"""Plugin of pytest that passes the node to the proofs."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from lab.cluster.node.node import Node

GIVEN: pytest.StashKey["Given"] = pytest.StashKey()


@dataclass(frozen=True)
class Given:
    """`archives` are those of the images, by their names."""

    node: Node
    archives: dict[str, Path]

    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[GIVEN] = self
