"""The control plane's view of the directory: find, change and list app environments.

directory     the rules for apps and tables; each change of an app ends with its cached bindings invalidated
tables        changes of the tables in one app document, as pure functions
changes       compare-and-swap on an app document, also when a reply is lost
side_records  pointers and intents: the records around an app document
pages         lists of apps and organizations, one page at a time
"""
