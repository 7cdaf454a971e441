"""The client for Python beside calls by hand.

measure    CPU per call, calls per second, memory of waiting calls; prints a table
ways       the calls that are compared
stub       the server that answers them; a program of its own
"""
