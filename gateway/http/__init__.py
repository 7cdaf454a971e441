"""HTTP on every listener: bytes to requests, responses to bytes. Only here is aiohttp known.

messages      a request and a response as values, and a response on the wire
receiving     the receiving side of a connection: bytes to messages, by aiohttp's parser
body          a request's body, read within its bounds
connection    one client: its requests in, its responses out
sending       the sending side of a connection, and its end
deadline      what a connection waits for has to come in time
handshake     a connection before its TLS handshake is over
places        who may stay connected, and who loses its place to a new connection
service       what all connections of one listener share, and how many there may be
listener      a listening socket: opened, closed to new connections, closed for good
asking        a request of ours to a server that answers in JSON
fetching      what lies at a URL or in a file that others write to
handover      leaving a port to the replicas that share it
"""
