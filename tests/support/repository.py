"""Where the repository is, for tests of its documents, manifests and example files."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
