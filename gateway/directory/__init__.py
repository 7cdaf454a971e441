"""Who is who: app environments, their tables, and the tokens that stand for them.

tokens       the shape of a table token, and its digest
records      the documents in the store, and what a binding is made of
declared     apps from the configuration file
managed      apps from the control plane: every change is one compare-and-swap
directory    both side by side, as the control plane sees them
bindings     both side by side, as the data plane sees them: cached
reclaiming   space of deleted tables, given back in the background
runtime      what an app is told about its table
"""
