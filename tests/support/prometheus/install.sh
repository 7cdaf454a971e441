#!/bin/sh
# Puts prometheus and promtool into the directory $1 of a virtual environment, for a machine that has none of its own:
# the programs out of Debian's package. Installing that would start a service on port 9090.
set -eu
bin=$(cd "$1" && pwd)

unavailable() {
    echo "the tests do not run on Prometheus: $1"
    exit 0
}

command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || unavailable "this machine has no Debian packages"
echo "installing Prometheus for the tests"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

download() {
    apt-get -qq -o Acquire::Retries=0 -o Acquire::http::Timeout=10 download prometheus
}

update() {
    if [ "$(id -u)" = 0 ]; then apt-get -qq update; else sudo -n apt-get -qq update; fi
}

{ download || { update && download; }; } >log 2>&1 || unavailable "its package cannot be had"
dpkg-deb -x prometheus_*.deb . >>log 2>&1 || unavailable "its package cannot be unpacked"
for program in prometheus promtool; do
    "usr/bin/$program" --version >>log 2>&1 || unavailable "$program does not run on this machine"
    mv "usr/bin/$program" "$bin/$program"
done
