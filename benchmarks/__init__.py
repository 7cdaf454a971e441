"""Requests per second of the gateway beside a bare aiohttp handler: `make bench`.

bare        the bare handler, a program of its own
load        the generator, a program of its own
signed      the pre-signed requests that both answer
__main__    starts servers and generator on different cores, prints the table
"""
