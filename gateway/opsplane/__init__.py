"""The ops plane: what operators and Prometheus ask.

handler       probes, metrics, the OpenAPI document
health        which dependencies answer, and whether the replica is ready
exposition    metrics as Prometheus text
"""
