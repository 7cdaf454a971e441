"""The composition of each part of a replica: every object that depends on settings is built here.

shared        the parts that all planes use
directory     the directory, with the apps that the configuration file declares
data          the data plane: put, get and delete
control       the control plane: apps, tables and credentials
credentials   the credentials plane: session credentials for workloads
ops           the ops plane: probes and metrics

Each listener serves one plane. `gateway.app` wires the parts together. A part whose settings may change while
it runs has a method `prepare`: it builds the new objects, and returns the step that puts them to use.
"""
