"""The three HTTP listeners. Only here is aiohttp known.

server        connections: caps and deadlines for heads, idle and unread ones; parser errors as JSON
reading       a request's id and body
responding    answers on the wire
data          `POST /v1/put|get|delete`: stages 1 and 2, then the pipeline
ops           liveness, readiness, metrics
control       table and app management
"""
