"""Proofs run inside a cluster alone, never in `make test`. They share what is installed there."""

import os
from pathlib import Path

import pytest

if "KVS_CLUSTER" not in os.environ:
    collect_ignore_glob = ["test_*.py"]
else:
    from lab.cluster.given import GIVEN
    from lab.cluster.ledgers import Ledgers
    from lab.cluster.node.node import Node
    from lab.cluster.site import Site

    @pytest.fixture(scope="session")
    def node(pytestconfig) -> Node:
        return pytestconfig.stash[GIVEN].node

    @pytest.fixture(scope="session")
    def archives(pytestconfig) -> dict[str, Path]:
        return pytestconfig.stash[GIVEN].archives

    @pytest.fixture(scope="session")
    def site(node) -> Site:
        """The gateway on Redis, as the guide installs it, scraped by Prometheus."""
        site = Site(node)
        site.install()
        return site

    @pytest.fixture(autouse=True)
    def _order(site) -> None:
        """Whatever came before: its rollout has ended, its pods are gone, and nothing leads to them."""
        site.at_rest()

    @pytest.fixture(scope="session")
    def ledgers() -> Ledgers:
        """Counts of the clients by org, app and table, which the proof of usage compares with the bill."""
        return Ledgers()
