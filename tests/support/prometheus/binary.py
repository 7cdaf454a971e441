"""Where the programs of Prometheus are."""

import shutil
import sysconfig

from tests.support.coverage import not_covered


def program_or_skip(name: str) -> str:
    """`prometheus` or `promtool`: the machine's own, else the one that `make test` installed.

    Where there is neither the test is skipped; in CI nothing may go unshown.
    """
    found = shutil.which(name) or shutil.which(name, path=sysconfig.get_path("scripts"))
    if found is None:
        not_covered(f"there is no {name}: `make prometheus` installs one where there is a Debian package")
    return found
