"""One node and its control plane.

api           lists what the API server holds
certificates  authority, certificates and tokens of one run
components    what runs, and how it is configured
discovery     lists the pods for Prometheus
node          starts them, and the pods that every cluster has
policies      enforces NetworkPolicies
"""
