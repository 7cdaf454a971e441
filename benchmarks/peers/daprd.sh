#!/bin/sh
# Builds Dapr's sidecar with the components that the benchmark needs into the directory $1; takes minutes, once.
# `go install` refuses a module with replace directives, so it is built in a copy of the module.
set -eu
version=1.18.2
target=$1/daprd-$version

if test -x "$target"; then
    exit
fi
go=$(command -v go || command -v /usr/local/go/bin/go) || { echo "no Go toolchain for Dapr's sidecar"; exit 0; }

# The components stand behind a tag that brings several hundred; a copy of the module has it taken off those two.
build() {
    module=$("$go" mod download -json "github.com/dapr/dapr@v$version" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
    cp -r "$module" "$folder/module"
    chmod -R u+w "$folder/module"
    cd "$folder/module"
    for component in state_redis middleware_http_ratelimit; do
        sed -i '/^\/\/go:build/d' "cmd/daprd/components/$component.go"
    done
    rm cmd/daprd/components/zz_notag.go # refuses to start without the tag
    "$go" build -p 2 -o "$folder/daprd" ./cmd/daprd
}

mkdir -p "$1"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
echo "building Dapr's sidecar for the benchmark; this takes minutes"
if (build) >"$folder/log" 2>&1; then
    mv "$folder/daprd" "$target"
else
    echo "Dapr's sidecar could not be built:"
    tail -3 "$folder/log"
fi
