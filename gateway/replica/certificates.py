"""The certificates of all listeners that have one: shown from the start, and followed by a reload."""

from gateway.config.certificates import ShownCertificate
from gateway.config.settings import ListenSettings, Settings
from gateway.replica.reload import Prepared


class Certificates:
    """`shown` are by the listeners' names. Which files they are in changes with a restart alone."""

    def __init__(self, listen: ListenSettings) -> None:
        self.shown = {name: ShownCertificate(tls, f"listen.{name}.tls") for name, tls in listen.tls.items()}

    def prepare(self, _: Settings) -> Prepared:
        """What the files hold now. Raises UnusableCertificate."""
        read = [(shown, shown.read()) for shown in self.shown.values()]

        def apply() -> None:
            for shown, context in read:
                shown.show(context)

        return Prepared(apply)
