#!/bin/sh
# Puts webdis and nginx into the directory $1, for a machine that has none: the programs out of Debian's packages.
# Installing those would start services.
set -eu
mkdir -p "$1"
target=$(cd "$1" && pwd)

has() {
    command -v "$1" >/dev/null || test -x "$target/$1"
}

if has webdis && has nginx; then
    exit
fi
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || { echo "no Debian packages: no webdis, no nginx"; exit; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

download() {
    apt-get -qq -o Acquire::Retries=0 -o Acquire::http::Timeout=10 download "$@"
}

# $1 is the package and the program, $2 its path in the package, what follows are packages of libraries.
fetch() {
    program=$1 path=$2
    shift 2
    has "$program" && return
    echo "fetching $program for the benchmark"
    rm -f ./*.deb
    download "$program" "$@" || { apt-get -qq update && download "$program" "$@"; } || return
    for package in ./*.deb; do
        dpkg-deb -x "$package" "$target/$program-files" || return
    done
    printf '#!/bin/sh\nfiles=%s\nLD_LIBRARY_PATH=$files/usr/lib/%s-linux-gnu exec "$files/%s" "$@"\n' \
        "$target/$program-files" "$(uname -m)" "$path" >"$target/$program"
    chmod +x "$target/$program"
}

fetch webdis usr/bin/webdis libhiredis0.14 libb64-0d libevent-2.1-7 2>/dev/null || echo "webdis is not available"
fetch nginx usr/sbin/nginx 2>/dev/null || echo "nginx is not available"
