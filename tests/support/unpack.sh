# To be sourced: unpacks Debian's package $package into a folder that goes with the shell, and works there from then on.
# Nothing is installed, no service is started. The caller defines `unavailable`, which prints a reason and ends with 0.
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || unavailable "this machine has no Debian packages"
echo "installing $package for the tests"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

download() {
    apt-get -qq -o Acquire::Retries=0 -o Acquire::http::Timeout=10 download "$package"
}

update() {
    if [ "$(id -u)" = 0 ]; then apt-get -qq update; else sudo -n apt-get -qq update; fi
}

{ download || { update && download; }; } >log 2>&1 || unavailable "its package is not available"
dpkg-deb -x "$package"_*.deb . >>log 2>&1 || unavailable "its package cannot be unpacked"
