"""Parsers of commands: mistakes are reported as other failures are, and the help lists every command."""

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from typing import Any, NoReturn

from gateway.cli.calling import CommandFailed, Exit


class Parser(ArgumentParser):
    """Options are spelled out: an abbreviation would mean another option once there is one that fits, too."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=RawDescriptionHelpFormatter, **options)
        self.lines: list[str] = []
        """Of the help: one for each command below this parser."""

    def format_help(self) -> str:
        """The options, and all commands."""
        if self.lines:
            self.epilog = "\n".join(["commands:", *self.lines])
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """A mistake in the arguments. Raises CommandFailed."""
        raise CommandFailed(Exit.INVALID, "usage", message=message, usage=self.format_usage().strip())


class Commands:
    """The commands below a parser, whose names are the value of `place`."""

    def __init__(self, parser: Parser, place: str, above: tuple[Parser, ...] = ()) -> None:
        self._parsers = parser.add_subparsers(dest=place, required=True, metavar=place.upper())
        self._listed_by = (*above, parser)

    def add(self, name: str, text: str, *parents: Parser) -> Parser:
        """A command with the options of `parents`; `text` says in one line what it does."""
        parser = self._parsers.add_parser(name, description=text, parents=parents)
        for listing in self._listed_by:
            listing.lines.append(f"  {parser.prog.partition(' ')[2]:20} {text}")
        return parser

    def group(self, name: str) -> "Commands":
        """Commands of two words, of which this is the first; the second is the value of `action`."""
        return Commands(self._parsers.add_parser(name), "action", self._listed_by)
