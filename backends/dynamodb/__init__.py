"""Any number of replicas on one DynamoDB table, and no server to run.

schema       one table for everything: what its keys and attributes mean
credentials  AWS credentials, found and refreshed by aiobotocore
signing      outgoing Signature V4 with cached keys
transport    one POST: the seam at which transports can be exchanged
client       a call: deadlines, retries inside a budget, checksums, breaker
refusals     what DynamoDB refuses, as the errors of the ports
table        creates or verifies the table
reading      DynamoDB's answers, decoded by type
entries      `EntryStore`
counters     `WindowCounter`
records      `RecordStore`
backend      `Backend`: what the settings choose, put together
"""
