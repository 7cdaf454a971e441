"""Any number of replicas on one Redis: standalone, behind Sentinel, or a Cluster.

settings    what `kind: redis` can be set to
url         the forms of a Redis url, parsed
commands    what is sent: names, slots, commands in RESP
resp        what comes back: replies in RESP, within bounds
replies     what they mean: error replies as the errors of the ports
deadlines   how long a reply may take, and how an overdue one is noticed
connection  one socket that all calls share
dialing     from an address to an open connection: TLS, credentials, database
server      one server, kept connected, behind a deadline, a circuit breaker and a limit on calls in flight
discovery   what sentinels say of the master, and cluster nodes of the owners of slots
sentinels   the master that most sentinels name, left when they name another
slots       the map of a cluster, kept fresh
cluster     calls of a cluster: redirections, the gap between two masters
inspection  what the settings of a server endanger
topology    which server runs a command or a script
entries     `EntryStore`
purging     the walk through all keys that gives back those of deleted tables
counters    `WindowCounter`
records     `RecordStore`
names       the order of the records, and pages of them
feed        which records were changed
backend     `Backend`: what a url chooses, put together
"""
