"""KVS Gateway: an authenticated, rate-limited, metered key-value edge over pluggable stores.

The rooms, in reading order; `docs/rooms.md` says which of them may import which:

domain            the vocabulary: the values that flow, the refusals of calls, the service's numbers
dataplane         put, get and delete: start at `dataplane.pipeline`, the order of policies in one function
sigv4             Signature V4 as pure functions
credentials       where callers' secrets come from
identity          who calls the control plane, and what they may do there
directory         apps, tables and tokens; cached bindings
controlplane      apps, tables and credentials over HTTP
credentialsplane  session credentials for workloads
opsplane          probes, metrics, the OpenAPI document
observability     usage per tenant, service metrics, logs, traces
http              bytes to request, response to bytes; the only room that knows aiohttp
config            YAML to typed settings
composition       builds the parts of a replica from settings
app               the composition root: wires these parts together
replica           the life of a process: listen, reload, drain, end
cli               the command line
billing           what tenants used in a period, from the samples that Prometheus keeps
__main__          `python -m gateway`

`console/` is a client of the control plane in the browser: static files, which the control plane serves.
"""

__version__ = "0.2.0"
