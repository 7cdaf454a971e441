"""Sources of callers' secrets.

keyring          static access keys, and the patterns of approved roles
session          session credentials: self-contained signed tokens, issued and opened
trusted_proxy    callers named by a trusted proxy in front; networks of peers
"""
