"""YAML to typed settings. All mistakes are reported together, and no value is ever printed.

problems         collects mistakes with their paths
settings         the shape: type, unit, range and default of each key
strict_yaml      YAML without repeated keys, objects or unbounded depth
interpolation    `${NAME}`, `${NAME:-default}` and `file:/path` in strings
decoding         converts a YAML tree to settings, or to mistakes with their paths
certificates     checks and replaces the certificates of listeners
apps             contradictions in `apps`
callers          contradictions in `signature.credentials`
workloads        contradictions in `workloads`
secret_roles     one secret in two places
hosts            the names under which each listener serves
dangers          settings that open the gateway to strangers
contradictions   contradictions between keys, of all sections
loading          loads a file into settings, or into all of its problems, and detects changes
"""
