"""An OpenID Connect issuer that signs everybody in at once: discovery, codes with PKCE, ID tokens."""

from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from urllib.parse import urlencode

from aiohttp import web

from tests.identity.issuer import token
from tests.support.clock import FakeClock

CORS = {"Access-Control-Allow-Origin": "*"}


class SigningIssuer:
    """Gives a code to everybody, or refuses all. `verified` counts codes that came with their verifier.

    `configured` overrides its configuration, `added` adds to its redirects, `answered` replaces the response
    to a code.
    """

    def __init__(self, clock: FakeClock) -> None:
        self.url = ""
        self.refuses = False
        self.subject = "ada"
        self.verified = 0
        self.configured: dict[str, str] = {}
        self.added: dict[str, str] = {}
        self.answered: str | None = None
        self._clock = clock
        self._codes: dict[str, dict[str, str]] = {}

    async def discover(self, _: web.Request) -> web.Response:
        configured = {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            **self.configured,
        }
        return web.json_response(configured, headers=CORS)

    async def authorize(self, request: web.Request) -> web.Response:
        asked = dict(request.query)
        if self.refuses:
            answer = {"error": "access_denied", "error_description": "not today", "state": asked["state"]}
        else:
            answer = {"code": f"code-{len(self._codes)}", "state": asked["state"]}
            self._codes[answer["code"]] = asked
        raise web.HTTPFound(f"{asked['redirect_uri']}?{urlencode(answer | self.added)}")

    async def give_token(self, request: web.Request) -> web.Response:
        form = await request.post()
        asked = self._codes.pop(str(form["code"]))
        digest = urlsafe_b64encode(sha256(str(form["code_verifier"]).encode()).digest()).rstrip(b"=").decode()
        if (digest, "S256") != (asked["code_challenge"], asked["code_challenge_method"]):
            return web.json_response({"error": "invalid_grant"}, status=400, headers=CORS)
        self.verified += 1
        if self.answered is not None:
            return web.Response(text=self.answered, content_type="application/json", headers=CORS)
        given = token(
            self._clock, iss=self.url, sub=self.subject, nonce=asked["nonce"], groups=["platform"]
        ).decode()
        return web.json_response({"id_token": given}, headers=CORS)


@asynccontextmanager
async def running_issuer(clock: FakeClock) -> AsyncIterator[SigningIssuer]:
    """One on a port of its own."""
    issuer = SigningIssuer(clock)
    app = web.Application()
    app.router.add_get("/.well-known/openid-configuration", issuer.discover)
    app.router.add_get("/authorize", issuer.authorize)
    app.router.add_post("/token", issuer.give_token)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    issuer.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield issuer
    finally:
        await runner.cleanup()
