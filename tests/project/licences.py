"""The licences of what the gateway runs on: `python -m tests.project.licences`."""

import sys
from importlib.metadata import PackageNotFoundError, metadata

from tests.project.lock import pins

ALLOWED = {"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0", "MPL-2.0", "PSF-2.0"}

_SPELT_OTHERWISE = {
    "Apache 2.0": "Apache-2.0",
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache License 2.0": "Apache-2.0",
    "MIT License": "MIT",
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
    "License :: OSI Approved :: BSD License": "BSD-3-Clause",
    "License :: OSI Approved :: MIT License": "MIT",
}
_HEAD = """\
# Licences

What the gateway runs on, at the versions of `requirements.lock`. Made by `make licences`.
"""


def licence_of(name: str) -> str:
    """An SPDX expression, from what the package says of itself. Raises PackageNotFoundError."""
    package = metadata(name)
    stated = package.get("License-Expression") or package.get("License") or ""
    if stated in ("", "Dual License"):
        classifiers = [each for each in package.get_all("Classifier") or [] if each.startswith("License")]
        return " OR ".join(sorted(_SPELT_OTHERWISE.get(each, each) for each in classifiers))
    return _SPELT_OTHERWISE.get(stated, stated)


def is_allowed(expression: str) -> bool:
    """One allowed part is enough of `OR`; of `AND` all have to be."""
    return any(all(part in ALLOWED for part in each.split(" AND ")) for each in expression.split(" OR "))


def main() -> None:
    rows = [_HEAD]
    for pin in pins():
        try:
            rows.append(f"- {pin.name} {pin.version}: {licence_of(pin.name)}")
        except PackageNotFoundError:
            raise SystemExit(f"{pin.name} is not installed here") from None
    sys.stdout.write("\n".join([*rows, ""]))


if __name__ == "__main__":
    main()
