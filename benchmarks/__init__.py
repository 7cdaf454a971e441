"""Measures the gateway beside a bare aiohttp handler and its peers, and each of its stages: `make bench`.

__main__    runs every section and writes the results
plan        how much is measured
sections    the sections in order; report, tables, picture and publish turn figures into text
results     results by section; programs runs the measurements that need a process of their own
figures     figures that several measurements share
machine     the machine, and how busy it is
servers     every server in turn: requests per second, CPU, latencies
subjects    the servers under test: how each is started, its requests and the expected answers
gateways    the bare handler and the gateway on each store; bare and canned are programs of their own
peers       webdis, nginx, Dapr's sidecar: configuration, requests, and where to get them
signed      requests that were signed beforehand
redis       the Redis that gateway and peers share
stages      CPU of each stage alone, on silent connections; a program of its own
footprint   memory and start-up
scale       sizes of values, replicas
issuing     CPU per credential that workloads fetch; a program of its own
fairness    latency of gets beside busy clients of the other listeners; hammer is the program of these clients
dynamodb    CPU per call of DynamoDB beside aiobotocore; calls is the program
processes   a server on its own core, from ready to stopped
clients     the client libraries beside their alternatives; a program in each language
generators  the generators as processes: closed sends the next request after each answer, steady at a
            fixed rate
exchange    one connection, as both generators use it
"""
