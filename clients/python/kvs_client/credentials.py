"""Credentials from botocore's chain: found once, refreshed by botocore, never on the thread of a caller.

Finding or refreshing them may run a program or call a server, for longer than any deadline. So it happens on
a separate thread, once at a time, and all callers wait for the same future.
"""

import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from botocore.session import Session

from kvs_client import forks
from kvs_client.errors import KvsError, NotAuthorized
from kvs_client.signing import Credentials

Find = Callable[[], Any]

_LAST_SECONDS = 60
"""Credentials are not used in the last seconds before they expire."""
_PAUSE_SECONDS = 10
"""Pause between refreshes while the old credentials are valid: botocore logs each failure."""
_VISIBLE = re.compile(r"[!-~]*")


class CredentialSource:
    """A source of credentials; `find` returns those of botocore, or None."""

    def __init__(self, find: Find | None = None) -> None:
        self._find = find or _find
        self.renew()
        forks.renew_in_children(self)

    def renew(self) -> None:
        """Discards all state of the process that forked this one: its fetching thread does not exist here."""
        self._lock = threading.Lock()
        self._found: Any = None
        self._fetching: Future[Credentials] | None = None
        self._fetched: Credentials | None = None
        self._next_fetch = 0.0

    def ready(self) -> Credentials | None:
        """Returns credentials without waiting, or None if they must be fetched first.

        botocore refreshes long before they expire. Until shortly before that, calls use the old ones.
        """
        found = self._found
        if found is None:
            return None
        refresh_needed = getattr(found, "refresh_needed", None)
        if refresh_needed is None or not refresh_needed():
            return _frozen(found)
        if refresh_needed(_LAST_SECONDS):
            return None
        if time.monotonic() >= self._next_fetch:
            self.fetch()
        return self._fetched

    def fetch(self) -> "Future[Credentials]":
        """Finds or refreshes them; all callers meanwhile get the same future."""
        with self._lock:
            if self._fetching is None:
                self._next_fetch = time.monotonic() + _PAUSE_SECONDS
                self._fetching = future = Future[Credentials]()
                future.set_running_or_notify_cancel()
                threading.Thread(
                    target=self._fetch, args=(future,), daemon=True, name="kvs-credentials"
                ).start()
            return self._fetching

    def _fetch(self, future: "Future[Credentials]") -> None:
        failure, frozen = _refusal("botocore found none in its chain"), None
        try:
            found = self._found or self._find()
            frozen = _frozen(found) if found else None
            self._found, self._fetched = found, frozen
        except NotAuthorized as error:
            failure = error.again()
        except Exception as error:  # of botocore, or of a program or server that it calls
            failure = _refusal(type(error).__name__)  # its text may quote what a program printed
        with self._lock:
            self._fetching = None
        if frozen is None:
            future.set_exception(failure)
        else:
            future.set_result(frozen)


def _frozen(found: Any) -> Credentials:
    frozen = found.get_frozen_credentials()
    if not (_VISIBLE.fullmatch(frozen.access_key) and _VISIBLE.fullmatch(frozen.token or "")):
        raise _refusal("they contain a space, a line break or another invisible character")
    return Credentials(frozen.access_key, frozen.secret_key, frozen.token)


def _refusal(reason: str) -> KvsError:
    return NotAuthorized("no_credentials", f"credentials: {reason}")


def _find() -> Any:
    return Session().get_credentials()
