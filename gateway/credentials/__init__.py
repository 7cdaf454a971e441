"""Where callers' secrets come from.

keyring          static keys by their ids; which roles are approved
networks         whether a peer is in one of several networks
session          session credentials: tokens that carry their own proof, and who may be issued them
trusted_proxy    a proxy in front that vouches for callers
"""
