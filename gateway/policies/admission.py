"""Whether a proved caller may use this binding now."""

from gateway.errors import BindingInactive, CallerNotApproved, UnsupportedAppType
from gateway.model import SUPPORTED_APP_TYPES, Binding, Caller, Grant


def admit(caller: Caller, binding: Binding) -> Grant:
    """Raises BindingInactive, UnsupportedAppType or, for credentials of another app, CallerNotApproved."""
    if not binding.active:
        raise BindingInactive
    if binding.app_type not in SUPPORTED_APP_TYPES:
        raise UnsupportedAppType
    if caller.environment is not None and caller.environment != binding.environment:
        raise CallerNotApproved
    return Grant(binding.keyspace, binding.budgets, binding.labels)
