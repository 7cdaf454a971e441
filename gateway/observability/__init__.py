"""Metrics, logs and traces: usage per tenant for billing, service metrics for operation.

catalogue    name, type, help text and labels of every metric
usage        usage counters per table, when a scrape exposes them, and their cap
series       the counters of one table as exposition text
metrics      requests, refusals, store latencies, and numbers kept elsewhere
stores       one decorator per port, which times every store call
tracing/     spans of requests and of their store calls, by OpenTelemetry
logs         JSON lines, each with the id of its request; the context of audit events
"""
