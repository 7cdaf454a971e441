"""What tenants used in a period, from the samples that Prometheus keeps.

A gateway is known here by its metrics alone.

samples    series as they were scraped, and the archive that has them
promql     expressions over the gateway's series
epochs     which process a scrape belongs to
ledger     differences of counters, added up per tenant
period     a period read slice by slice
report     a ledger as rows and CSV, with warnings

The command is `gateway.cli.usage`; the archive that it reads is `gateway.cli.prometheus`.
"""
