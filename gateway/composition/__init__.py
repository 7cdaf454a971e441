"""The composition of each part of a replica: every object that is made of settings is made here.

shared        the parts that all planes use
directory     the directory, with the apps that the configuration file declares
data          the data plane: put, get and delete
control       the control plane: apps, tables and credentials
credentials   the credentials plane: session credentials for workloads
ops           the ops plane: probes and metrics

A plane is what one listener serves. `gateway.app` wires them together. Each class whose settings may change
while it runs has `prepare`, which builds the new objects, and hands them over in one step.
"""
