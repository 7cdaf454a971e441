"""The command line: JSON on standard output, errors as JSON on standard error, exit codes by kind.

main          the entry point: arguments in, exit code out
arguments     the commands and their arguments
parsers       parsers of commands, and their help
calling       how commands call servers, and how they fail
management    commands that manage apps, tables and credentials
listener      the control listener as they ask it
formats       variables of functions, ready to source or to apply
unknown       what to do when a command cannot say whether it was applied
development   the command that runs a gateway for development
usage         the command that reports usage
prometheus    Prometheus as the archive that usage is read from
"""
