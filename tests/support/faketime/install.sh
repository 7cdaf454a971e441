#!/bin/sh
# Puts libfaketime.so.1 into the directory $1 of a virtual environment: the library out of Debian's package.
set -eu
support=$(cd "$(dirname "$0")/.." && pwd)
lib=$(cd "$1" && pwd)

unavailable() {
    echo "the tests do not let clocks jump: $1"
    exit 0
}

package=libfaketime
. "$support/unpack.sh"
library=$(find usr/lib -name libfaketime.so.1 | head -n 1)
test -n "$library" || unavailable "its package holds no library"
LD_PRELOAD="$PWD/$library" FAKETIME="-1d" date >>log 2>&1 || unavailable "it does not run on this machine"
mv "$library" "$lib/libfaketime.so.1"
