"""The certificates of all listeners with TLS, replaced by a reload."""

from gateway.config.certificates import ShownCertificate
from gateway.config.settings import ListenSettings, Settings
from gateway.replica.reload import Prepared


class Certificates:
    """`shown` has them by listener. Their paths change only with a restart."""

    def __init__(self, listen: ListenSettings) -> None:
        self.shown = {name: ShownCertificate(tls, f"listen.{name}.tls") for name, tls in listen.tls.items()}

    def prepare(self, _: Settings) -> Prepared:
        """Reads the current files. Raises UnusableCertificate."""
        read = [(shown, shown.read()) for shown in self.shown.values()]

        def apply() -> None:
            for shown, context in read:
                shown.show(context)

        return Prepared(apply)
