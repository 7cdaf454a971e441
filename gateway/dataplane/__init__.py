"""The data plane: put, get and delete.

handler      `POST /v1/put|get|delete`: stages 1 and 2 of the contract, then the pipeline
access_log   one line per request, if it is to be logged
pipeline     the order of the policies, in one function
policies/    who calls, which table, how often
parsing      a body to an operation
explaining   what refusals tell who has to mend a call
execution    the meter of a call, and the operation on its table
tracing      spans around the handler and the meter, if requests are traced
"""
