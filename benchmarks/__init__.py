"""The gateway beside a bare aiohttp handler and its peers, at scale, and stage by stage: `make bench`.

__main__    runs every section and writes what it found into results/
plan        how much is measured
sections    what is measured of speed, in order; report, tables, picture, publish turn it into text
region_sections   a region of 100,000 apps, likewise; region_report turns it into text
results     what was found, kept by section; programs runs those that measure in a process of their own
servers     every server in turn: requests per second, CPU, latencies
subjects    the servers under test: how each is started, what it is sent and must answer
gateways    the bare handler and the gateway on each store; bare and canned are programs of their own
peers       webdis, nginx, Dapr's sidecar: configuration, requests, and where to get them
signed      pre-signed requests for the gateway; the bare handler answers them too
redis       the Redis that gateway and peers share
stages      CPU of each stage alone, on connections that are silent; a program of its own
footprint   memory and start-up
scale       sizes of values, replicas
changes     how long until a change is in force on another replica
store_load  what stores are asked, at rest and per request; relay counts for DynamoDB, and is a program
tenancy     CPU per request where many tenants call in turn, memory, declared apps
growth      the same CPU without a kernel; a program of its own
issuing     CPU per credential that workloads fetch; a program of its own, too
scrapes     size and cost of a scrape, and Prometheus' memory (prometheus); a program of its own
holds       how long the loop is held by lists, reloads, scrapes and purges; a program of its own
loop_watch  how long a loop is held; aside has the programs beside it: spawner runs pages and commands, beside
            calls the data plane
figures     the figures of a region, as they are kept
region      the page on a region: region_goals beside what was asked for, region_plan what it takes and costs
dynamodb    CPU per call of DynamoDB beside aiobotocore; calls is the program
processes   a server on its own core, from ready to stopped
clients     the clients for other programs, beside what else calls; programs of their own in each language
exchange    one connection, as both generators use it
closed      requests per second: the next request follows the last answer; a program of its own
steady      latencies at a fixed rate, whatever the answers do; a program of its own
"""
