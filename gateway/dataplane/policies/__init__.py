"""The policies: pure rules that know no HTTP and not each other; `gateway.dataplane.pipeline` orders them.

caller        layer 1: authenticates the caller by Signature V4 or a trusted proxy
binding       layer 2: finds the table of a token, and admits the call
rate_limit    the exact rate limit
"""
