"""The life of a replica.

run           listen, serve until a signal, drain, end
reload        a changed configuration takes effect without a restart
background    what runs beside serving
"""
