"""Identities of control-plane callers and workloads, and the permissions that they have.

permissions       permission grants with their scopes; an identity holds several
jose              public keys and signatures, by PyJWT and cryptography; loaded on first use
keys              parses a JWKS into public keys, each for one algorithm
issuer_keys       fetches and caches the keys of one issuer
issuers           shares each issuer's keys between all listeners that trust it
web_tokens        verifies JWTs and caches the verdicts
callers           resolves a bearer token to an identity; compares control tokens in constant time
"""
