"""Who is who: app environments, their tables, and the tokens that stand for them.

errors        refusals of changes that a rule of the directory forbids
tokens        the shape of a table token, and its digest
records       the documents in the store, and the bindings that are made of them
declared      apps from the configuration file
corrupt       records that cannot be read: found, named, looked at again
changes       compare-and-swap on an app's document, also if a reply is lost
side_records  the records that help around a document
documents     the documents of managed apps: found, changed, removed
managed       apps from the control plane: their rules, each as one change
pages         lists of both, a page at a time
directory     declared and managed apps side by side, as the control plane sees them
remembering   for how long replicas remember bindings, and how they agree on it
cache         bindings that are remembered, by token and by app
freshness     when a remembered binding may be used
lookups       lookups in flight, and changes at the same time
reading       the two reads behind a lookup
bindings      declared and managed apps side by side, as the data plane sees them: lookups and their cache
strangers     a bound on what invented tokens cost
feed          what other replicas have changed, told to the bindings
lease         one replica at a time reclaims
sealing       which intents may be believed
intents       which tables were deleted, and what is to be done about each
reclaiming    the space of deleted tables, given back in the background
parts         all of these, put together
"""
