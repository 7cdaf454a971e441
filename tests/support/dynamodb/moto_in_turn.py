"""moto's server, one call at a time; a program with the host and the port as its arguments.

On its own moto looks at a condition and writes in two steps, between which other calls come in.
"""

import sys
from collections.abc import Callable, Iterable
from io import BytesIO
from threading import Lock
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import run_simple

_turn = Lock()
_moto = DomainDispatcherApplication(create_backend_app)


def _in_turn(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    environ["wsgi.input"] = BytesIO(body)
    with _turn:
        return list(_moto(environ, start_response))


if __name__ == "__main__":
    run_simple(sys.argv[1], int(sys.argv[2]), _in_turn, threaded=True, request_handler=MotoRequestHandler)
