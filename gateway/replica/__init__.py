"""The life of a replica.

run           listens, serves until a signal, and ends
drain         the steps of a shutdown, which fails no request and loses no count
reload        hot reload of settings, and the watch on their file
background    background loops: health checks, chores of the directory, keys of issuers, idle rows
stores        opens the stores
"""
