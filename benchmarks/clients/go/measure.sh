#!/bin/sh
# The client for Go beside calls that are written by hand with http.Client, signed and not: processor time of the
# client per call, calls per second over one pool of 64 connections, memory of 10,000 calls that wait. The server checks
# nothing, on a core of its own. Needs Go and Linux: sh benchmarks/clients/go/measure.sh [rounds]
set -eu
rounds=${1:-3}
cd "$(dirname "$0")/../../../clients/go"
scratch=$(mktemp -d)
go build -o "$scratch/benchmark" ./internal/benchmark
taskset -c 0 "$scratch/benchmark" serve > "$scratch/url" &
server=$!
trap 'kill $server; rm -r "$scratch"' EXIT
until [ -s "$scratch/url" ]; do sleep 0.1; done
url=$(cat "$scratch/url")
for round in $(seq "$rounds"); do
	for how in client signed bare; do
		GOMAXPROCS=1 taskset -c 1 "$scratch/benchmark" calls "$how" "$url"
	done
done
"$scratch/benchmark" waiting "$url"
