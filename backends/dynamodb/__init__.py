"""Any number of replicas on one DynamoDB table, and no server to run.

settings       what `kind: dynamodb` can be set to
items          one table for everything: keys and attributes, and how items are decoded
credentials    AWS credentials, found and refreshed by aiobotocore
transport      one signed POST
store_time     DynamoDB's time, from the dates of its responses
failures       failed attempts: the errors of the ports, and which attempts are repeated
client         a call: deadlines, retries within a budget, checksums, circuit breaker
table          creates or verifies the table
entries        `EntryStore`
counters       `WindowCounter`
records        `RecordStore`
announcements  what the items of the feed say, and positions between them
feed           which records were changed
backend        `Backend`: what the settings choose, put together
"""
