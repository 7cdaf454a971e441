"""Any number of replicas on one Redis: standalone, behind Sentinel, or a Cluster.

url         what the configuration says about where Redis is
connection  one socket that all calls share
dialing     from an address to an open connection: TLS, credentials, database
server      a server kept connected, behind a deadline, a breaker and a cap
discovery   asks sentinels and cluster nodes who serves what
topology    which server a key belongs to
replies     what Redis refuses, as the errors of the ports
keys        names of entries, counters and records
entries, counters, records, scripts, backend    the ports
"""
