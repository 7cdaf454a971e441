"""The gateway beside a bare aiohttp handler and beside webdis: `make bench`.

__main__    starts servers and generators on their cores, prints the tables
subjects    the servers under test: how each is started, what it is sent and must answer
bare        the bare handler, a program of its own
signed      pre-signed requests for the gateway; the bare handler answers them too
webdis      the same operations as webdis takes them
redis       the Redis that gateway and webdis share
processes   a server on its own core, from ready to stopped
exchange    one connection, as both generators use it
closed      requests per second: the next request follows the last answer; a program of its own
steady      latencies at a fixed rate, whatever the answers do; a program of its own
"""
