"""The ops plane, for operators and Prometheus.

handler       probes, metrics, the OpenAPI document
health        state of the dependencies, and readiness of the replica
exposition    metrics as Prometheus text
"""
