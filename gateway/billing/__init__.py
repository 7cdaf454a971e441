"""Billing: usage of a period per tenant, from the samples that Prometheus keeps.

This package knows the gateway by its metrics alone.

samples    scraped series, and the archive that stores them
query_api  the query API of Prometheus: selectors and response format
epochs     the process that each scrape belongs to
ledger     differences of counters, added up per tenant
period     a period, read slice by slice
report     a ledger as rows and CSV, with warnings

The command is `gateway.cli.usage`; it reads the archive through `gateway.cli.prometheus`.
"""
