"""The parser of the command line, and the commands that it knows."""

from argparse import ArgumentParser, _SubParsersAction
from collections.abc import Iterator
from unittest import mock

from gateway.cli.arguments import parse_arguments
from gateway.cli.parsers import Parser


def whole_parser() -> Parser:
    """Returns the parser of all commands."""
    with mock.patch.object(Parser, "parse_args", lambda parser, _: parser):
        return parse_arguments([], {})


def commands_of(parser: ArgumentParser, *words: str) -> Iterator[str]:
    """Yields the commands of a parser; `words` lead to it."""
    groups = [action for action in parser._actions if isinstance(action, _SubParsersAction)]
    if not groups:
        yield " ".join(words)
    for group in groups:
        for word, below in group.choices.items():
            yield from commands_of(below, *words, word)
