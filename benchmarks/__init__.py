"""The gateway beside a bare aiohttp handler and its peers, at scale, and stage by stage: `make bench`.

__main__    runs every section and writes what it found into results/
plan        how much is measured
sections    what is measured, in order; report, tables, picture, publish turn it into text and a drawing
servers     every server in turn: requests per second, CPU, latencies
subjects    the servers under test: how each is started, what it is sent and must answer
gateways    the bare handler and the gateway on each store; bare and canned are programs of their own
peers       webdis, nginx, Dapr's sidecar: configuration, requests, and where to get them
signed      pre-signed requests for the gateway; the bare handler answers them too
redis       the Redis that gateway and peers share
stages      CPU of each stage alone, on connections that are silent; a program of its own
footprint   memory and start-up
scale       tenants, sizes of values, replicas, declared apps
growth      CPU per request where many tenants call in turn; a program of its own
holds       how long the event loop is held by lists, reloads and scrapes; a program of its own
region      100,000 app environments, computed from the above
dynamodb    CPU per call of DynamoDB beside aiobotocore; calls is the program
processes   a server on its own core, from ready to stopped
exchange    one connection, as both generators use it
closed      requests per second: the next request follows the last answer; a program of its own
steady      latencies at a fixed rate, whatever the answers do; a program of its own
"""
