"""The Helm chart: it installs the same objects as kustomize and rejects values that would not work.

guide                blocks of its README
releases             values that correspond to an overlay with components
test_equality        the same objects as kustomize
test_rendered        many values: schemas, policy, configuration, rollouts
test_values          effects of single values
test_refused         wrong values and their error messages
test_package         lint, archive, notes and guide
"""
