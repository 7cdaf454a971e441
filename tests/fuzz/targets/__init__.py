"""Fuzz targets: functions that take any bytes, and raise if the project's code breaks a promise.

A refusal of the declared type is right, and so is a result that means what it should. Everything else,
another exception above all, is a finding. `tests/fuzz/corpus/<name>` holds inputs for each.
"""

from collections.abc import Callable
from pathlib import Path

from tests.fuzz.targets.bodies import body, cursor, precondition
from tests.fuzz.targets.calls import control, session, signature, token
from tests.fuzz.targets.configuration import configuration, redis_url
from tests.fuzz.targets.credentials import container, sts_response, web_identity
from tests.fuzz.targets.framing import framing
from tests.fuzz.targets.listeners import control_request, credentials_request
from tests.fuzz.targets.stores import dynamodb, redis, redis_discovery
from tests.fuzz.targets.tokens import web_token

CORPUS = Path(__file__).parents[1] / "corpus"

TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target
    for target in (
        body,
        configuration,
        container,
        control,
        control_request,
        credentials_request,
        cursor,
        dynamodb,
        framing,
        precondition,
        redis,
        redis_discovery,
        redis_url,
        session,
        signature,
        sts_response,
        token,
        web_identity,
        web_token,
    )
}
