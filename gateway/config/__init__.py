"""YAML to typed settings. Every mistake is found, all are reported together, no value is ever printed.

problems         mistakes with their paths, collected
settings         the shape: what each key is, its unit, range and default
strict_yaml      YAML without repeated keys, objects or unbounded depth
interpolation    `${NAME}`, `${NAME:-default}` and `file:/path` in strings
decoding         a tree of YAML to settings, mistakes with their paths
certificates     a listener's certificate, checked and replaced
apps             declared apps: their contradictions, and their records in the directory
callers          where callers' secrets come from: contradictions there
workloads        who is given credentials of their own: contradictions there
dangers          settings that would let in who should stay out
contradictions   what no single key can tell
loading          a file to settings or to all its problems, and whether it has changed
"""
