"""KVS Gateway: an authenticated, rate-limited, metered key-value edge over pluggable stores.

Reading order:

model, errors, limits     the vocabulary: values that flow, every refusal, the numbers
pipeline                  the order of policies, in one function
policies/                 signature, table_token, admission, rate_limit
sigv4/, credentials/      Signature V4 as pure functions; where callers' secrets come from
operations, execution, answers    body to operation, operation to outcome, outcome to JSON
directory/                apps, tables and tokens; the control plane's rules
metering/                 usage per tenant, the service's own metrics
edge/                     the three HTTP listeners; the only rooms that know aiohttp
config/, cli/             YAML to typed settings; the command line
app                       the one module that names concrete classes and wires them
"""

__version__ = "0.1.0"
