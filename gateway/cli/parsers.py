"""Parsers that report mistakes as JSON, like all failures, and whose help lists every command."""

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from typing import Any, NoReturn

from gateway.cli.calling import CommandFailed, Exit


class Parser(ArgumentParser):
    """Takes no abbreviated options: a new option would change the meaning of an abbreviation."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=RawDescriptionHelpFormatter, **options)
        self.lines: list[str] = []
        """Lines of the help, one for each command below this parser."""

    def format_help(self) -> str:
        """Lists the options and all commands."""
        if self.lines:
            self.epilog = "\n".join(["commands:", *self.lines])
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """Reports a mistake in the arguments. Raises CommandFailed."""
        raise CommandFailed(Exit.INVALID, "usage", message, usage=self.format_usage().strip())


class Commands:
    """The commands below a parser; the name of the chosen one becomes the argument `dest`."""

    def __init__(self, parser: Parser, dest: str, above: tuple[Parser, ...] = ()) -> None:
        self._parsers = parser.add_subparsers(dest=dest, required=True, metavar=dest.upper())
        self._listed_by = (*above, parser)

    def add(self, name: str, text: str, *parents: Parser) -> Parser:
        """Adds a command with the options of `parents`; `text` describes it in one line."""
        parser = self._parsers.add_parser(name, description=text, parents=parents)
        for listing in self._listed_by:
            listing.lines.append(f"  {parser.prog.partition(' ')[2]:20} {text}")
        return parser

    def group(self, name: str) -> "Commands":
        """Adds a group of commands such as `apps list`; the second word becomes the argument `action`."""
        return Commands(self._parsers.add_parser(name), "action", self._listed_by)
