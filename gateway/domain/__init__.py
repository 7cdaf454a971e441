"""The vocabulary: values, refusals and rules that every room speaks in; no I/O, no clock, no HTTP library.

model      the values that flow: Call, Caller, Binding, Grant, operation, Outcome
errors     every refusal, with its status and code
rules      the service's numbers
headers    header fields of a call
answers    outcomes and refusals as JSON
"""
