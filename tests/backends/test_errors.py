"""Copies of an error that many tasks raise."""

import pytest

from backends.errors import BackendError, BackendUnavailable
from backends.redis.wire.replies import Redirected
from backends.redis.wire.url import Address


@pytest.mark.parametrize(
    "kept", [BackendUnavailable("away"), Redirected(Address("10.0.0.1", 7000), 3999, is_asking=True)]
)
def test_a_copy_has_the_same_message_and_no_traceback(kept):
    for _ in range(2):
        with pytest.raises(BackendError) as raised:
            raise kept.copy()
        assert type(raised.value) is type(kept)
        assert (str(raised.value), vars(raised.value)) == (str(kept), vars(kept))
    assert kept.__traceback__ is None
