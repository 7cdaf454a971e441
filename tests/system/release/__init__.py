"""`make release`, in a repository of its own whose only commit is this folder as it is now.

repository      that repository
test_release    what comes out, that it is the same each time, and when nothing does
"""
