"""Usage, metrics and readiness, by themselves and over HTTP."""
