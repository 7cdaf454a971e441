"""One connection to one Redis server, from its URL to the errors that its replies become.

url         the forms of a Redis URL, parsed
commands    key names, cluster slots, commands encoded in RESP
resp        the reader of replies in RESP2, within bounds
replies     error replies as errors of the ports, checks of other replies
deadlines   the deadline of a reply, and the timer that notices an overdue one
connection  one socket that all calls share
dialing     from an address to a connection that is ready: TLS, credentials, database
"""
