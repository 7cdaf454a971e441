"""Certificates of listeners: checks their files, and replaces them while the listener is open."""

import os
import ssl
from pathlib import Path

from gateway.config.problems import Problems
from gateway.config.settings import TlsSettings


class UnusableCertificate(Exception):
    """The files are not a certificate and its key. `path` is their path in the settings."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class ShownCertificate:
    """The certificate of a listener. The listener keeps `context`; a handshake switches to the current one.

    Each certificate has a context of its own. If a new pair were loaded into the same context, an old
    certificate with another kind of key (RSA, ECDSA) would stay in use as well, and half a pair would remain
    if key and certificate do not match.
    """

    def __init__(self, tls: TlsSettings, path: str) -> None:
        self._tls = tls
        self._path = path
        self._shown = self.context = server_context(tls, path)
        self.context.sni_callback = self._begin_handshake  # also for a ClientHello without a name

    def read(self) -> ssl.SSLContext:
        """Returns a context from the current files, for `show`. Raises UnusableCertificate."""
        return server_context(self._tls, self._path)

    def show(self, context: ssl.SSLContext) -> None:
        """Uses another certificate from the next handshake on."""
        self._shown = context

    def _begin_handshake(self, handshake: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        handshake.context = self._shown


def server_context(tls: TlsSettings, path: str) -> ssl.SSLContext:
    """Returns a context from the current files. Raises UnusableCertificate."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    if not (Path(tls.certificate).is_file() and Path(tls.key).is_file()):  # reading a pipe would block
        raise UnusableCertificate(path)
    try:
        # With an empty password OpenSSL refuses an encrypted key. With none it would ask at the terminal.
        context.load_cert_chain(tls.certificate, tls.key, password="")
    except OSError:  # also SSLError, if certificate and key do not match
        raise UnusableCertificate(path) from None
    return context


def check_certificate(tls: TlsSettings, path: str, problems: Problems) -> None:
    """Notes why the files are unusable, if they are."""
    if not problems.with_files:
        return
    unreadable = [key for key in ("certificate", "key") if not _is_readable(getattr(tls, key))]
    for key in unreadable:
        problems.add(f"{path}.{key}", "names a file that cannot be read")
    if unreadable:
        return
    try:
        server_context(tls, path)
    except UnusableCertificate:
        problems.add(path, "needs a PEM certificate and its unencrypted key")


def _is_readable(file: str) -> bool:
    try:
        return os.access(file, os.R_OK)
    except ValueError:  # no path holds a NUL
        return False
