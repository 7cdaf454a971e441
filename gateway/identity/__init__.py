"""Who calls the control plane, and what they may do there.

permissions       grants: which permissions, on which organizations and apps; an identity has several
control_tokens    the bearer tokens in the configuration, compared in constant time
"""
