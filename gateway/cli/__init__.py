"""The command line: JSON on standard output, errors as JSON on standard error, exit codes by kind."""
