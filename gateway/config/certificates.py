"""The data listener's certificate."""

import ssl
from pathlib import Path

from gateway.config.settings import TlsSettings


class UnusableCertificate(Exception):
    """What is in the files is no certificate with its key."""


class ShownCertificate:
    """The certificate that handshakes are given. `context` takes connections for as long as there are any.

    Each has a context of its own, because one that is loaded again keeps a certificate with another kind of
    key, and is left with half a pair where the other half does not fit.
    """

    def __init__(self, tls: TlsSettings) -> None:
        self._tls = tls
        self._shown = self.context = server_context(tls)
        self.context.sni_callback = self._begin_handshake  # called without a name, too

    def read(self) -> ssl.SSLContext:
        """What is in the files now, for `show`. Raises UnusableCertificate."""
        return server_context(self._tls)

    def show(self, context: ssl.SSLContext) -> None:
        """Show another certificate from the next handshake on."""
        self._shown = context

    def _begin_handshake(self, handshake: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        handshake.context = self._shown


def server_context(tls: TlsSettings) -> ssl.SSLContext:
    """A context that shows what is in the files now. Raises UnusableCertificate."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    if not (Path(tls.certificate).is_file() and Path(tls.key).is_file()):  # a pipe would be waited for
        raise UnusableCertificate
    try:
        # an empty password, because the library would ask the terminal for that of an encrypted key
        context.load_cert_chain(tls.certificate, tls.key, password="")
    except OSError:  # what does not fit together is an SSLError, which is one
        raise UnusableCertificate from None
    return context
