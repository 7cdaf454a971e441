"""What the time of a refusal tells of a secret: measured by `python -m lab.timing`, and tested."""
