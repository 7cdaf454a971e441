"""Tables of version 0.2 (layout 1): served in place, and moved to layout 2 when an operator asks for it.

marks     the layout of each old table, and of the store
old       entries of layout 1: one string each, which a move freezes
moving    the move of single entries, and operations on a table of layout 1
upgrade   the move of a whole table, in steps
tables    `ChargedStore` and `TableStore` over tables of both layouts

A table of version 0.2 has one mark, in its home. It only ever advances:

    old     entries are in layout 1
    moving  an entry is in layout 2 once its home has noted the key as settled, and in layout 1 until then
    moved   all entries are in layout 2; frozen remains of layout 1 expire within an hour
    new     all entries are in layout 2

An entry moves in two atomic steps: its string of layout 1 is frozen, so that no operation changes it any
more; then its home settles the key, once, and stores what was frozen. Each replica that meets a frozen string
settles it first, so an interrupted move blocks nobody. An operation on a string that is not frozen looks at
the mark once more before it answers: the move may have begun meanwhile, and may have passed its key.
"""
