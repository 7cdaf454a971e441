"""What the time of a refusal tells of a secret: measured by `python -m tests.system.timing`, and tested."""
