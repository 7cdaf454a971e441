"""The three HTTP listeners. Only here is aiohttp known.

server        the connections of one listener, and their cap
connection    deadlines for heads, idle and unread ones; parser errors as JSON
framing       a bound on heads, and on what frames a body
handover      leaving a port to the replicas that share it
exchange      a request, its id, and its response
reading       a request's body
responding    answers as responses
data          `POST /v1/put|get|delete`: stages 1 and 2, then the pipeline
ops           liveness, readiness, metrics
control       table and app management
"""
