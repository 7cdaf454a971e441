"""Any number of replicas on one Redis: standalone, behind Sentinel, or a Cluster.

settings  the keys of `kind: redis`
wire      one connection: URL, commands, replies, deadlines
topology  the servers: which one owns a key, how a lost one is found again
tables    `TableStore` and `ChargedStore`: layout 2
layouts   tables of both layouts, and the move from layout 1
entries   a walk through all keys, for entries of layout 1
counters  `WindowCounter`
records   `RecordStore`, with its name index and its change feed
backend   `Backend`: the ports on one topology

wire imports nothing of topology, and topology nothing of the stores above it.
"""
