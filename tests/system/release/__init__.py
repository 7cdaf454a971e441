"""`make release` in a temporary repository whose only commit is the current state of this one.

repository      the temporary repository
test_release    contents, reproducibility, and reasons not to release
"""
