"""The laboratory: programs and tests that a release runs, beyond what a change is judged by.

billing       hours and months of generated usage, in a real Prometheus
cluster       a real one-node Kubernetes on this machine, and the tests that run in it
failover      failovers of Redis Sentinel and Redis Cluster under load
faults        outages, clock jumps and floods against real processes, in one table of results
flaky         repeats a tier of tests under CPU load to find flaky ones
fuzz          coverage-guided fuzzing of the targets in tests/fuzz
hostile       crowds of hostile clients beside well-behaved ones
reclaiming    deleted tables in a large store, and while a part of it is down
simulation    replicas, clients and stores on a simulated network and clock
store_faults  stores that are killed, stopped, slow, silent or throttled
timing        whether the time of a refusal depends on a secret
"""
