# To be sourced: installs a package of Debian, as root or by sudo without a password.
as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

apt() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=0 -o Acquire::http::Timeout=10 "$@"
}

install_package() {
    command -v apt-get && as_root true || return 1
    apt install -y --no-install-recommends "$1" || { apt update && apt install -y --no-install-recommends "$1"; }
}
