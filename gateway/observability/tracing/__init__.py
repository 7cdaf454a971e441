"""Traces of the data plane by OpenTelemetry. Off, they wrap and import nothing.

requirement   whether OpenTelemetry is installed
opening       traces or none, as configured
requests      a span per request: begun and ended around the handler, told apart by tenant and answer
stores        a span per call of a store within such a request
spans         the span of the request that is being served
exporting     a bounded queue, a thread of its own, and an account of what was lost
"""
