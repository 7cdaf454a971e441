"""The directory: app environments, their tables, and the bindings that table tokens resolve to.

records    the documents in the store
grants     the bindings made from them
tokens     the format of a table token, and its digest
declared   apps from the configuration file
corrupt    records that cannot be decoded: detected, logged, checked again
errors     refusals of the directory
retention  the time for which replicas cache bindings, registered in the store
apps       the control plane's view: find, change and list apps
resolve    the data plane's view: from a token to its binding, cached
reclaim    gives back the space of deleted tables, in the background
parts      all of these, wired together
"""
