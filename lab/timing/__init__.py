"""Timing of refusals, which must not depend on a secret: measured by `python -m lab.timing`, and tested."""
