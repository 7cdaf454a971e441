"""What is counted, logged and traced: usage per tenant, to bill from; the service's own metrics, to run it.

catalogue    every metric's name, type, help text and labels, once
usage        rows of counters per table: what is shown of them and when, capped
series       the counters of a row as text
metrics      requests, refusals, latencies of stores, and numbers that others keep
directory    the metrics of the directory
stores       the decorator of each port: calls are timed
tracing/     spans of requests and of their calls of stores, by OpenTelemetry
logs         JSON lines, and the request that each belongs to
"""
