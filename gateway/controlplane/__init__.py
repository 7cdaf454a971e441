"""The control plane: apps, tables and credentials over HTTP.

errors         refusals of the control plane itself
calls          a call: its route, its fields, its answer with an audit event
runtime        apps and tables as JSON, and the variables of an app's functions
apps           calls that manage apps and their tables
lists          organizations, and the apps of one, a page at a time
callers        who may call, and the call that tells who one is
places         places in lists that a link may name without telling what is there
credentials    the call that issues session credentials
console        the console's files, and what else needs no token
usage          the call that shows the usage of an app
figures        what Prometheus knows of an app
health         the call that shows how the replica is
sign_in        the issuers by whom people may sign in
handler        from a request to a call and from its end to a response
"""
