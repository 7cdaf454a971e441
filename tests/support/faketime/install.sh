#!/bin/sh
# Puts libfaketime.so.1 into the directory $1 of a virtual environment: the library out of Debian's package.
set -eu
lib=$(cd "$1" && pwd)

unavailable() {
    echo "the tests do not let clocks jump: $1"
    exit 0
}

command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || unavailable "this machine has no Debian packages"
echo "installing libfaketime for the tests"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

download() {
    apt-get -qq -o Acquire::Retries=0 -o Acquire::http::Timeout=10 download libfaketime
}

update() {
    if [ "$(id -u)" = 0 ]; then apt-get -qq update; else sudo -n apt-get -qq update; fi
}

{ download || { update && download; }; } >log 2>&1 || unavailable "its package cannot be had"
dpkg-deb -x libfaketime_*.deb . >>log 2>&1 || unavailable "its package cannot be unpacked"
library=$(find usr/lib -name libfaketime.so.1 | head -n 1)
test -n "$library" || unavailable "its package holds no library"
LD_PRELOAD="$PWD/$library" FAKETIME="-1d" date >>log 2>&1 || unavailable "it does not run on this machine"
mv "$library" "$lib/libfaketime.so.1"
