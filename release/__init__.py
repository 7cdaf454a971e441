"""`make release`: builds all published artifacts from a commit into `dist/`, with checksums.

version     all files that state the version; `python -m release.version 0.3.0` updates them
commit      checks that the commit can be released (clean, in the changelogs) and exports it
packages    builds wheels, sdists, the npm package, the Go module and the chart
archives    reproducible archives: fixed times, owners and order
sbom        the bill of materials: the package and everything in `requirements.lock`
installed   installs the packages into fresh environments, starts and uses them
commands    runs other programs
__main__    the command: build, check, write checksums
"""
