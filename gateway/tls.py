"""The data listener's certificate."""

import ssl

from gateway.config.settings import TlsSettings


class UnusableCertificate(Exception):
    """What is in the files is no certificate with its key."""


def server_context(tls: TlsSettings) -> ssl.SSLContext:
    """A context that shows the certificate. Raises UnusableCertificate."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    show_certificate(context, tls)
    return context


def show_certificate(context: ssl.SSLContext, tls: TlsSettings) -> None:
    """Show what is in the files now, from the next handshake on. Raises UnusableCertificate."""
    try:
        # an empty password, because the library would ask the terminal for that of an encrypted key
        context.load_cert_chain(tls.certificate, tls.key, password="")
    except OSError:  # what does not fit together is an SSLError, which is one
        raise UnusableCertificate from None
