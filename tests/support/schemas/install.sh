#!/bin/sh
# Puts the schemas that files.txt names into the directory $2; $1 is that of a virtual environment's programs.
# The Go proxy has them in the sources of the projects that read what they describe.
set -eu
support=$(cd "$(dirname "$0")/.." && pwd)
bin=$(cd "$1" && pwd)
target=$2

unavailable() {
    echo "custom resources and compose.yaml are not validated: $1"
    exit 0
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$support/go.sh"
echo "fetching the schemas of custom resources and of Compose for the tests"
mkdir "$work/new"
while read -r module file name; do
    env GOPATH="$work/path" GOCACHE="$work/cache" GOFLAGS=-modcacherw "$go" mod download -json "$module" \
        >"$work/module" 2>"$work/log" || unavailable "$module is not available"
    folder=$(sed -n 's/.*"Dir": "\(.*\)".*/\1/p' "$work/module")
    cp "$folder/$file" "$work/new/$name"
done <"$support/schemas/files.txt"
mkdir -p "$target"
cp "$work/new"/* "$target"
cp "$support/schemas/files.txt" "$target/files.txt"
