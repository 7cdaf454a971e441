"""The credentials listener: a workload shows who it is and gets session credentials; nothing else is here.

errors        refusals, each with its STS code
handler       which form is asked for; the bound of each address, the count of outcomes, the audit line
web_identity  STS' form: `AssumeRoleWithWebIdentity`
parameters    what that form sends, valid or refused
sts           what STS answers
container     the form of containers: a token in `Authorization`
exchange      an identity for session credentials
workloads     from a token to the workload that it proves
arrivals      how often an address may ask
"""
