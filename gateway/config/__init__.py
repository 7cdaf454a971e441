"""YAML to typed settings. Every mistake is found, all are reported together, no value is ever printed.

settings         the shape: what each key is, its unit, range and default
interpolation    `${NAME}`, `${NAME:-default}` and `file:/path` in strings
decoding         a tree of YAML to settings, mistakes with their paths
contradictions   what no single key can tell
declaring        declared apps as directory records
loading          a file to settings, or to all its problems
"""
