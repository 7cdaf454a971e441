"""Credentials from botocore's chain: found once, refreshed by botocore, never on the thread of a caller.

To find or refresh them can run a program or ask a server, for longer than any deadline. So it is done on a
thread of its own, one at a time, and whoever needs them waits for the same future.
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
"""How long before their end credentials are used no more."""
_PAUSE_SECONDS = 10
"""From one refresh to the next, while those there are still hold: botocore logs each that fails."""
_VISIBLE = re.compile(r"[!-~]*")


class CredentialSource:
    """`find` gives botocore's credentials, or None."""

    def __init__(self, find: Find | None = None) -> None:
        self._find = find or _find
        self.renew()
        forks.renew_in_children(self)

    def renew(self) -> None:
        """Of another process nothing is used: who fetches them is a thread there, and botocore has a lock."""
        self._lock = threading.Lock()
        self._found: Any = None
        self._fetching: Future[Credentials] | None = None
        self._fetched: Credentials | None = None
        self._next_fetch = 0.0

    def ready(self) -> Credentials | None:
        """Without any waiting; None: they have to be fetched.

        botocore refreshes long before the end. Until shortly before it nobody has to wait for that.
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
        """Find or refresh them; one future for all who ask meanwhile."""
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
        failure, frozen = _refusal("nothing in the chain"), None
        try:
            found = self._found or self._find()
            frozen = _frozen(found) if found else None
            self._found, self._fetched = found, frozen
        except NotAuthorized as error:
            failure = error.again()
        except Exception as error:  # botocore's own, and those of the programs and servers that it asks
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
        raise _refusal("a blank, a line break or another invisible character")
    return Credentials(frozen.access_key, frozen.secret_key, frozen.token)


def _refusal(reason: str) -> KvsError:
    return NotAuthorized("no_credentials", f"credentials: {reason}")


def _find() -> Any:
    return Session().get_credentials()
