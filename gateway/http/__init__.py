"""HTTP on every listener: bytes to requests, responses to bytes. Only this room knows aiohttp.

messages      requests and responses as values, and a response on the wire
receiving     the receiving side of a connection: a queue of messages, and backpressure
cutting       bytes to messages, by aiohttp's parser: each byte belongs to one
body          reads bodies that are still on their way, bounded in size, time and number
connection    one client: requests in, responses out
sending       the sending side of a connection, and its end
handshake     a connection until its TLS handshake is over
admission     bounds of waiting connections: the limiter, which admits and evicts, and the deadline
fence         notices that the process stood still, and what had been received by then
state         the states of a connection, with the one table of transitions between them
service       the state that all connections of one listener share
turns         requests of the other listeners share the event loop in short pieces
listener      a listening socket: opened, closed to new connections, closed for good
handover      leaves a port to the replicas that share it
client        requests of the gateway to other servers
"""
