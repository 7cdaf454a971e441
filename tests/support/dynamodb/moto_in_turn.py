"""moto's server, one call at a time; a program with the host and the port as its arguments.

On its own moto looks at a condition and writes in two steps, between which other calls come in. Before each
transaction it makes a deep copy of the table, and keeps all of them: 10 GB after some thousand.
"""

import copy
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from io import BytesIO
from threading import Lock
from types import SimpleNamespace
from typing import Any

from moto.dynamodb import models
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import run_simple

_turn = Lock()
_moto = DomainDispatcherApplication(create_backend_app)


def _in_turn(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    environ["wsgi.input"] = BytesIO(body)
    with _turn:
        return list(_moto(environ, start_response))


def _copied(original: Any) -> Any:
    """Items that transactions change: they put and delete whole items."""
    if not isinstance(original, models.Table):
        return copy.deepcopy(original)
    table = object.__new__(models.Table)  # not counted among the instances that moto keeps
    vars(table).update(vars(original))
    table.items = defaultdict(dict, {key: dict(items) for key, items in original.items.items()})
    return table


models.copy = SimpleNamespace(deepcopy=_copied)


if __name__ == "__main__":
    run_simple(sys.argv[1], int(sys.argv[2]), _in_turn, threaded=True, request_handler=MotoRequestHandler)
