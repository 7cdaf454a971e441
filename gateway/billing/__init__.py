"""Billing: usage of a period per tenant, from the samples that Prometheus keeps.

This package knows the gateway by its metrics alone.

samples    scraped series, and the archive that stores them
promql     PromQL expressions over the gateway's series
query_api  response format of the query API of Prometheus
epochs     the process that each scrape belongs to
ledger     differences of counters, added up per tenant
period     a period, read slice by slice
report     a ledger as rows and CSV, with warnings

The command is `gateway.cli.usage`; it reads the archive through `gateway.cli.prometheus`.
"""
