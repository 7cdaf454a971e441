"""The data plane: operations on the entries of a table.

handler      `POST /v1/put` and the others: stages 1 and 2 of the contract, then the pipeline
access_log   log lines of sampled requests, failures and refused callers
pipeline     the order of the policies, in one function; the meter of a call, and its operation
policies/    authentication, table tokens, rate limit
bodies/      parses header fields and a body into an operation
diagnostics  explanations of refused calls
tracing      spans around the handler and the meter, if requests are traced
"""
