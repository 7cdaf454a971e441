"""One node and its control plane.

certificates  authority, certificates and tokens of one run
components    what runs, and how it is configured
node          starts them, and the pods that every cluster has
policies      enforces NetworkPolicies
"""
