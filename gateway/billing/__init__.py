"""What tenants used in a period, out of the samples that Prometheus keeps. Knows a gateway by its metrics.

samples    series as they were scraped, and the archive that has them
epochs     which process a scrape belongs to
ledger     differences of counters, added up per tenant
period     reads a period slice by slice
"""
