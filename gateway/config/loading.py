"""A file to settings, or to all that is wrong with it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from gateway.config.contradictions import find_contradictions
from gateway.config.decoding import decode
from gateway.config.interpolation import Outside, Read, interpolate, read_text
from gateway.config.problems import InvalidConfiguration, Problem, Problems
from gateway.config.settings import ControlSettings, Settings
from gateway.config.strict_yaml import read_yaml

_CONTROL_TOKEN_VARIABLE = "KVS_CONTROL_TOKEN"  # noqa: S105 - a name


def load(file: Path, environ: Mapping[str, str], read: Read = read_text) -> Settings:
    """The settings in a YAML file. Raises InvalidConfiguration with every problem."""
    try:
        text = read(file)
    except (OSError, ValueError):
        raise InvalidConfiguration([Problem("(file)", "cannot be read")]) from None
    return parse(text, environ, read)


def parse(text: str, environ: Mapping[str, str], read: Read = read_text) -> Settings:
    """The settings in a YAML text; `read` reads the files that it names.

    Raises InvalidConfiguration with every problem.
    """
    problems = Problems()
    try:
        tree = _spell_off(interpolate(read_yaml(text), "", Outside(environ, read), problems))
        settings = decode(Settings, tree, "", problems)
    except RecursionError:  # by depth, or by an alias of a mapping inside itself
        raise InvalidConfiguration([Problem("(file)", "is nested too deeply")]) from None
    _add_contradictions(settings, tree, problems)
    problems.raise_any()
    return _with_default_control_token(settings, environ)


def _add_contradictions(settings: Settings | None, tree: Any, problems: Problems) -> None:
    """Note contradictions, except in sections that have mistakes of shape and so were read in part only."""
    if settings is None and isinstance(tree, dict):
        settings = decode(Settings, {**tree, "region": "unknown"}, "", Problems())
    if settings is None:
        return
    contradictions = Problems()
    find_contradictions(settings, contradictions)
    misshapen = {problem.section for problem in problems.found}
    problems.found += [problem for problem in contradictions.found if problem.section not in misshapen]


def _spell_off(tree: Any) -> Any:
    """YAML reads a bare `off` as false; as `signature.mode` it means the word."""
    if isinstance(tree, dict) and isinstance(tree.get("signature"), dict):
        signature = tree["signature"]
        if signature.get("mode") is False:
            return {**tree, "signature": {**signature, "mode": "off"}}
    return tree


def _with_default_control_token(settings: Settings, environ: Mapping[str, str]) -> Settings:
    """Where no token is configured, the variable that the command line reads is the one, if it is set."""
    token = environ.get(_CONTROL_TOKEN_VARIABLE)
    if settings.control.tokens or not token:
        return settings
    return msgspec.structs.replace(settings, control=ControlSettings(tokens=[token]))
