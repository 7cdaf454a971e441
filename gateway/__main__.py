"""`python -m gateway` is `kvs-gateway`."""

from gateway.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
