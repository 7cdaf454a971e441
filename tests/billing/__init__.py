"""Billing: differences of counters, and the proof with a real Prometheus."""
