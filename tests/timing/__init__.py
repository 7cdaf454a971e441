"""What the time of a refusal tells of a secret: measured (`python -m tests.timing [samples]`) and tested."""
