"""The control plane: apps, tables and credentials over HTTP.

handler        authentication, permission and audit of each request
routing        routes, actions, and the call that an endpoint receives
encoding       long lists, encoded item by item
fields         decodes and checks the fields of a call; refuses them in words
apps           calls that manage apps and their tables
lists          pages of organizations and of an organization's apps
cursors        encrypted page cursors
credentials    the call that issues session credentials
usage          the call that shows the usage of an app
usage_queries  the Prometheus queries of an app's usage
about          the calls that show a caller its identity and the health of the replica
runtime        apps and tables as JSON, and the variables of an app's functions
console        files of the console, and the other paths without a token
sign_in        issuers through which people may sign in, and the content security policy
errors         refusals of the control plane
"""
