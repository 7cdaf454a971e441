"""Tables in Redis, layout 2: all keys of one app environment in one slot.

step.lua  charges and operations as one atomic step
store     `ChargedStore` and `TableStore`: the arguments of a step, and its reply
"""
