"""The command line: JSON on standard output, errors as JSON on standard error, exit codes by kind.

main             the entry point: takes arguments, returns an exit code
arguments        the commands and their arguments
parsers          parsers that report mistakes as JSON and list every command in the help
calling          exit codes, and the errors of commands
transport        one HTTP request and its response, bounded in bytes and time
management       commands that manage apps, tables and credentials
control_client   client of the control listener
answers          forms of the control listener's answers
formats          JSON, and an app's variables as shell lines or as a Kubernetes Secret
development      `kvs-gateway dev`: a gateway for development
usage            `kvs-gateway usage`: the usage report
prometheus       Prometheus as the archive that holds the usage
"""
