"""The laboratory: programs and tests that a release runs, beyond what a change is judged by.

cluster     a real one-node Kubernetes on this machine, and the tests that run in it
faults      outages, clock jumps and floods against real processes, in one table of results
simulation  replicas, clients and stores on a simulated network and clock
flaky       repeats a tier of tests under CPU load to find flaky ones
"""
