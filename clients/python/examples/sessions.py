"""A Flask app that keeps its sessions in a table: `flask --app sessions run`.

Set the variables first, for example those that `kvs-gateway dev` prints.
"""

import secrets
from typing import Any

from flask import Flask, Request, Response, session
from flask.sessions import SessionInterface, SessionMixin
from kvs_client import Client, from_env
from werkzeug.datastructures import CallbackDict

HOUR_SECONDS = 3600
COOKIE = "session_id"


class Session(CallbackDict[str, Any], SessionMixin):
    """Data of a visitor, under a name that nobody can guess."""

    def __init__(self, name: str, found: dict[str, Any] | None = None) -> None:
        super().__init__(found, lambda session: setattr(session, "modified", True))
        self.name = name
        self.modified = False


class Sessions(SessionInterface):
    """Reads a session before each request and stores it after, if it was changed."""

    def __init__(self, table: Client) -> None:
        self._table = table.with_prefix("session:")

    def open_session(self, app: Flask, request: Request) -> Session:
        name = request.cookies.get(COOKIE, "")
        entry = self._table.get(name) if len(name) == len(secrets.token_urlsafe()) else None
        return Session(name, entry.value) if entry else Session(secrets.token_urlsafe())

    def save_session(self, app: Flask, session: SessionMixin, response: Response) -> None:
        if isinstance(session, Session) and session.modified:
            self._table.put(session.name, dict(session), HOUR_SECONDS)
            response.set_cookie(
                COOKIE, session.name, httponly=True, samesite="Lax", secure=app.debug is False
            )


def create_app() -> Flask:
    """Creates the app, which counts the visits of each visitor."""
    app = Flask(__name__)
    app.session_interface = Sessions(from_env("sessions"))

    @app.get("/")
    def visit() -> dict[str, int]:
        session["visits"] = session.get("visits", 0) + 1
        return {"visits": session["visits"]}

    return app
