"""Tables in Redis, layout 2: all keys of one app environment in one slot.

store     `ChargedStore` and `TableStore`
steps     steps as calls of scripts
homes     key names
encoding  operations as arguments, stored entries
replies   replies of a step
scripts   the Lua scripts, composed of the files in `lua`
sweeping  removal of expired entries
"""
