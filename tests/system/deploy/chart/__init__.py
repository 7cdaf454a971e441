"""The Helm chart: that it installs what kustomize installs, and refuses what would not start.

guide                what its README shows
releases             the chart with the values that correspond to an overlay with components
test_equality        the same objects as kustomize's
test_rendered        many values: schemas, policy, configuration; what rolls the pods
test_values          what single values change
test_refused         wrong values, and what Helm says of them
test_package         lint, the archive, the notes, the guide
"""
