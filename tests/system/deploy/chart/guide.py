"""Copyable blocks of the chart's README."""

import re

import yaml

from tests.project.chart import CHART

GUIDE = (CHART / "README.md").read_text()
VALUES, MORE_VALUES = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)]
