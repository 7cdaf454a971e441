"""The vocabulary that every room speaks: values, refusals and rules; no I/O, no clock, no HTTP library.

rules      every limit and every pattern of a name
headers    header fields of a call
model      the values that flow: Call, Caller, Binding, Grant, table operation, Outcome
errors     the base of refusals, and those of the data plane, each with status and code
answers    outcomes and refusals as JSON
"""
