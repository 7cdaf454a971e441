"""The credentials listener: workloads prove their identity and get session credentials.

handler       chooses the form; counts and audit events
budgets       limits what an address may use: exchanges of a workload, and refused signatures
web_identity  the form of STS: `AssumeRoleWithWebIdentity`
parameters    parses the parameters of that form
sts           renders the XML of STS
container     the form of containers: a token in `Authorization`
workloads     resolves a token to a workload, and issues its session credentials
errors        refusals, with the error codes of STS
"""
