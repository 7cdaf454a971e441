"""The vocabulary that every room speaks: values, refusals and rules; no I/O, no clock, no HTTP library.

rules      every limit and every pattern of a name
model      the values that flow: Caller, Binding, Grant, table operation, Outcome
errors     the base of refusals, and those of the data plane, each with status and code
hosts      the names under which a listener serves
call       a call as it was received, with its header fields
answers    outcomes and refusals as JSON
"""
