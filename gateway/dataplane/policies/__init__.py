"""The policies: pure rules that know no HTTP and not each other; `gateway.dataplane.pipeline` orders them.

caller        layer 1: who calls (Signature V4, or a trusted proxy)
binding       layer 2: which table the token binds to, and admission
rate_limit    the exact rate limit
"""
