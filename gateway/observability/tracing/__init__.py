"""Traces of the data plane by OpenTelemetry. Without `tracing` in the configuration, none of it is imported.

opening      the interface of traces to the planes and stores, and their start as configured
spans        a span per request, and one per call of a store within such a request
exporting    a bounded queue, a thread of its own, and a count of lost spans
"""
