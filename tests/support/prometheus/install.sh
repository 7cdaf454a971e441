#!/bin/sh
# Puts prometheus and promtool into the directory $1 of a virtual environment, for a machine that has none of its own:
# the programs out of Debian's package. Installing that would start a service on port 9090.
set -eu
support=$(cd "$(dirname "$0")/.." && pwd)
bin=$(cd "$1" && pwd)

unavailable() {
    echo "the tests do not run on Prometheus: $1"
    exit 0
}

package=prometheus
. "$support/unpack.sh"
for program in prometheus promtool; do
    "usr/bin/$program" --version >>log 2>&1 || unavailable "$program does not run on this machine"
    mv "usr/bin/$program" "$bin/$program"
done
