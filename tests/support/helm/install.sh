#!/bin/sh
# Puts a helm into the directory $1 of a virtual environment, for a machine that has none.
# No registry has its program; the Go proxy has its source, and PyPI a Go for machines without one.
set -eu
support=$(cd "$(dirname "$0")/.." && pwd)
bin=$(cd "$1" && pwd)
version=v3.22.0

unavailable() {
    echo "the chart is not checked: there is no helm, and $1" >&2
    test -z "${CI:-}" || exit 1
    exit 0
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$support/go.sh"
echo "building helm $version for the chart: this takes minutes"
# The version of Kubernetes that it renders for where it asks no cluster; without it, one that is long gone.
kubernetes=helm.sh/helm/v3/pkg/chartutil.k8sVersion
env GOBIN="$bin" GOPATH="$work/path" GOCACHE="$work/cache" GOFLAGS=-modcacherw \
    "$go" install -ldflags "-s -w -X ${kubernetes}Major=1 -X ${kubernetes}Minor=34" \
    "helm.sh/helm/v3/cmd/helm@$version" >"$work/log" 2>&1 ||
    unavailable "it could not be built: $(tail -n 1 "$work/log")"
