"""Reclaiming in a Redis that is full of other keys.

crowded             a Redis with foreign keys, gateways on it, and how late their calls are meanwhile
__main__            measures: python -m lab.reclaiming 10000000 20
test_foreign_keys   what a smaller one has to show
"""
