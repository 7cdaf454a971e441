"""Any number of replicas on one DynamoDB table, and no server to run.

settings       settings of `kind: dynamodb`
items          the single-table layout: keys, attributes, decoding
credentials    AWS credentials, found and refreshed by aiobotocore
transport      one signed POST
store_time     DynamoDB's clock, derived from the dates of its responses
failures       failed attempts, mapped to port errors and to retries
client         one call with deadlines, a retry budget, checksums and a circuit breaker
table          creates or verifies the table
tables         `TableStore`
counters       `WindowCounter`
records        `RecordStore`
announcements  items of the change feed, and readers' positions
feed_partition reads of the partition of the change feed, around foreign items
feed           the feed of changed records
backend        `Backend`, wired from its settings
"""
