"""The servers of a store: which one owns a key, and how it is found again after a failover.

interface   `Topology` and `Script`, all that the stores use
opening     from a URL to its topology
one_master  all keys on one server, fixed or named by Sentinel
cluster     calls of a cluster: redirections, the gap between two masters
sentinels   the master by majority of the sentinels
slots       the slot map of a cluster, kept fresh
discovery   answers of sentinels and cluster nodes, decoded
server      one server: connection, deadline, circuit breaker, limit on calls in flight
inspection  warnings about a server's own settings
"""
