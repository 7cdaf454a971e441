"""Files of the console under `/console/`, and the sign-in issuers: everything served without a token.

The console is a client of the control plane's calls. Its files hold no data, so anybody may read them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath

import msgspec
from msgspec import Struct

from gateway.controlplane.sign_in import SignIn
from gateway.domain.answers import NOT_STORED, Answer, refuse
from gateway.domain.errors import MethodNotAllowed, NotFound, Refusal
from gateway.domain.hosts import AcceptedHosts
from gateway.http.messages import Handler, Request, Response

PATH = "/console/"

_INDEX = "index.html"
_READING = ("GET", "HEAD")

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
"""Content types by file suffix. Other files are not served."""

_GUARDS = (
    ("Referrer-Policy", "no-referrer"),
    ("X-Content-Type-Options", "nosniff"),
    ("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
)


class ConsoleFile(Struct, frozen=True):
    """A file as it is served, with an entity tag made of its bytes."""

    body: bytes
    content_type: str
    tag: str


def read_files(folder: Traversable | None = None) -> dict[str, ConsoleFile]:
    """Reads all files of the package, by path. Requests match whole paths, so none can leave the folder."""
    found = dict(_walk(folder or files("gateway").joinpath("console"), PATH))
    if index := found.get(PATH + _INDEX):
        found[PATH] = index
    return found


def _walk(folder: Traversable, path: str) -> Iterable[tuple[str, ConsoleFile]]:
    for each in folder.iterdir():
        if each.is_dir():
            yield from _walk(each, f"{path}{each.name}/")
        elif content_type := _TYPES.get(PurePosixPath(each.name).suffix):
            body = each.read_bytes()
            yield path + each.name, ConsoleFile(body, content_type, f'"{sha256(body).hexdigest()[:32]}"')


class PublicHandler:
    """Answers requests that need no token, and passes all others to `otherwise`, which refuses foreign hosts.

    Without `console_files` the console is switched off: its paths answer 404. `counted` counts requests by
    action and outcome.
    """

    def __init__(
        self,
        console_files: Mapping[str, ConsoleFile] | None,
        sign_in: SignIn,
        hosts: AcceptedHosts,
        otherwise: Handler,
    ) -> None:
        self._hosts = hosts
        self._sign_in = sign_in
        self.counted: Counter[tuple[str, ...]] = Counter()
        self._files = console_files or {}
        self._otherwise = otherwise

    def replace_sign_in(self, sign_in: SignIn) -> None:
        """Offers these issuers from the next request on."""
        self._sign_in = sign_in

    async def handle(self, request: Request) -> Response:
        """Answers one request of the control listener."""
        path = request.path.decode("latin-1")
        if not self._hosts.accept(request.headers):
            return await self._otherwise(request)
        if path == "/v1/sign-in":
            action, answer = "sign_in.show", partial(self._list_issuers, request)
        elif path == PATH.rstrip("/") or path.startswith(PATH):
            action, answer = "console.file", partial(self._file, request, path)
        else:
            return await self._otherwise(request)
        try:
            answered = answer()
        except Refusal as refusal:
            self.counted[action, "refused"] += 1
            return self._guard(refuse(refusal).with_fields(NOT_STORED))
        self.counted[action, "done"] += 1
        return self._guard(answered)

    def _guard(self, answer: Answer) -> Response:
        policy = ("Content-Security-Policy", self._sign_in.content_security_policy)
        return Response(answer.with_fields(policy, *_GUARDS))

    def _list_issuers(self, request: Request) -> Answer:
        if request.method != "GET":
            raise MethodNotAllowed(request.method, "GET")
        return Answer(200, msgspec.json.encode(self._sign_in.issuers), fields=(NOT_STORED,))

    def _file(self, request: Request, path: str) -> Answer:
        if PATH not in self._files or (path != PATH.rstrip("/") and path not in self._files):
            raise NotFound
        if request.method not in _READING:
            raise MethodNotAllowed(request.method, ", ".join(_READING))
        if path not in self._files:
            return Answer(308, b"", fields=(("Location", PATH),))
        file = self._files[path]
        fields = (("ETag", file.tag), ("Cache-Control", "no-cache"))
        is_known = _names(request.headers.get(b"if-none-match"), file.tag)
        body = b"" if is_known else file.body
        return Answer(304 if is_known else 200, body, fields=fields, content_type=file.content_type)


def _names(if_none_match: bytes | None, tag: str) -> bool:
    """Returns whether the field names the tag. A compressing proxy makes tags weak (RFC 9110, 13.1.2)."""
    tags = [each.strip().removeprefix(b"W/") for each in (if_none_match or b"").split(b",")]
    return b"*" in tags or tag.encode() in tags
