"""The data plane's view of the directory: from a table token to its binding.

An uncached token passes bindings, single_flight, lookup and cache, in this order, each once.

bindings        resolves a token; the other replicas' changes arrive here
single_flight   one lookup per token at a time, repeated if a change overtakes it
lookup          reads a binding from the store and caches it
cache           bindings by token and by app, and the negative cache of unknown tokens
freshness       the rules for using a cached binding
unknown_tokens  limits the lookups that invented tokens cause
feed            polls the feed of changes and invalidates what other replicas have changed
"""
