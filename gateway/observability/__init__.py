"""What is counted. Usage per tenant, to bill from; the service's own metrics, to run it by.

usage         rows of counters per table, capped
meter         the reading of one call, closed with its outcome in every case
service       requests, refusals, latencies, dependencies
stores        the one decorator per port that times a store
exposition    both as Prometheus text
"""
