"""The life of a replica.

run           listens, serves until a signal, ends
drain         the steps of a shutdown, which fails no request and loses no count
reload        hot reload of settings, and the watch on the file
certificates  the certificates of all listeners, replaced by a reload
background    background loops: health checks, chores of the directory, keys, idle rows
key_sources   fetches issuers' signing keys from a URL or a file
stores        opens the stores
"""
