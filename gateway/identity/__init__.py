"""Who calls the control plane, and what they may do there.

permissions       grants: which permissions, on which organizations and apps; an identity has several
control_tokens    the bearer tokens in the configuration, compared in constant time
jose              public keys and signatures, by PyJWT and cryptography; loaded when first needed
keys              the public keys of an issuer, each for one algorithm
issuer_keys       where those keys come from, and how they are kept
issuers           all issuers that are trusted somewhere: each is asked once for all who trust it
web_tokens        tokens of issuers: verified once, then remembered
callers           from a bearer token to an identity
"""
