"""Artifacts that `make release` builds from a commit: all that is published, in `dist/`, with checksums.

version     the places that state the version; `python -m release.version 0.3.0` changes all of them
commit      the commit that is released: clean, named in the changelog, exported as it is
packages    wheels, sdists, the npm package, the Go module, the chart
archives    archives with one time and one order, so that the same commit gives the same bytes
sbom        the bill of materials: the package with all that `requirements.lock` installs beside it
installed   fresh environments, in which what was built is installed, started and used
commands    runs other programs
__main__    the order of all this
"""
