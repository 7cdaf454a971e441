"""Reclaiming in a Redis that is full of other keys.

crowded             a Redis with foreign keys, gateways on it, and latencies of their calls
__main__            measures one drop: python -m lab.reclaiming 10000000
test_foreign_keys   many drops beside foreign keys
test_dead_shard     drops while a master of a cluster is stopped
"""
