"""The life of a replica.

run           listen, serve until a signal, end
drain         fails no request and loses no count: the steps of a shutdown, and their state
reload        hot reload: what may change, how it is applied, when the file is read again
certificates  the certificates of all listeners, and how a reload shows new ones
background    health checks, tending the directory, dropping idle rows
key_sources   fetches issuers' signing keys from a URL or a file
stores        opening the stores, and the opened ones
"""
