"""The control plane: apps, tables and credentials over HTTP.

handler    who may manage, which call it is, one audit line per change
calls      the calls
fields     their fields, each valid or refused under its own code
runtime    apps and tables as JSON, and the variables of an app's functions
"""
