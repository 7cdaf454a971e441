#!/bin/sh
# Installs Debian's package chromium where the machine has none, and puts axe-core of npm into the virtual environment $1.
set -eu
environment=$(cd "$1" && pwd)

unavailable() {
    echo "the console is not tested in a browser: $1"
    exit 0
}

. "$(dirname "$0")/../apt.sh"

echo "installing Chromium and axe-core for the tests"
command -v chromium >/dev/null || install_package chromium >/dev/null 2>&1 || unavailable "there is no Chromium, and no Debian package"
command -v npm >/dev/null || unavailable "axe-core comes from npm, which is not there"
mkdir -p "$environment/axe-core"
cd "$environment/axe-core"
archive=$(npm pack --silent axe-core@4.10.3) || unavailable "axe-core cannot be fetched"
tar -xzf "$archive" package/axe.min.js package/LICENSE
rm "$archive"
