"""A test issuer: keys, tokens, and a real HTTP server that serves the keys or misbehaves."""

import asyncio
import json
from base64 import urlsafe_b64encode
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from tests.support.accepting import stop_accepting
from tests.support.clock import FakeClock

ISSUER = "https://issuer.example.com"
AUDIENCE = "kvs-gateway"
PRIVATE = {
    "RS256": rsa.generate_private_key(65537, 2048),
    "ES256": ec.generate_private_key(ec.SECP256R1()),
    "EdDSA": ed25519.Ed25519PrivateKey.generate(),
}
KINDS = {"RS256": RSAAlgorithm, "ES256": ECAlgorithm, "EdDSA": OKPAlgorithm}


def shown(private: Any, key_id: str | None, **fields: Any) -> dict[str, Any]:
    """Returns a private key's public part as a JWK."""
    for algorithm, kind in KINDS.items():
        if isinstance(private, type(PRIVATE[algorithm])):
            key = kind.to_jwk(private.public_key(), as_dict=True)
    key.pop("key_ops", None)
    return {**key, **({} if key_id is None else {"kid": key_id}), **fields}


def jwks(*keys: dict[str, Any]) -> bytes:
    return json.dumps({"keys": list(keys)}).encode()


ALL = jwks(*(shown(private, algorithm) for algorithm, private in PRIVATE.items()))


def trusted_from(folder: Path) -> dict[str, Any]:
    """Writes the keys to a file in `folder` and returns the issuer's configuration section."""
    file = folder / "keys.json"
    file.write_bytes(ALL)
    return {"issuer": ISSUER, "audience": AUDIENCE, "jwks": str(file)}


def claims(clock: FakeClock, **changes: Any) -> dict[str, Any]:
    """Returns valid claims with `changes`; None removes a claim."""
    now = clock.wall_ms() // 1000
    good = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "exp": now + 600, "nbf": now - 5, "iat": now - 5}
    return {name: value for name, value in {**good, **changes}.items() if value is not None}


def token(
    clock: FakeClock, algorithm: str = "RS256", *, headers: dict | None = None, **changes: Any
) -> bytes:
    header = {"kid": algorithm, **(headers or {})}
    return jwt.encode(claims(clock, **changes), PRIVATE[algorithm], algorithm, headers=header).encode()


def signed_text(stated: bytes, header: bytes = b'{"alg":"RS256","kid":"RS256"}') -> bytes:
    """Signs any bytes as header and claims with the issuer's key; PyJWT refuses to encode some of them."""
    unsigned = b".".join(urlsafe_b64encode(part).rstrip(b"=") for part in (header, stated))
    proof = PRIVATE["RS256"].sign(unsigned, PKCS1v15(), SHA256())
    return unsigned + b"." + urlsafe_b64encode(proof).rstrip(b"=")


def forged(header: dict[str, Any], stated: Any, signature: bytes = b"x") -> bytes:
    """Builds a token from any header, claims and signature."""
    parts = (json.dumps(header).encode(), json.dumps(stated).encode(), signature)
    return b".".join(urlsafe_b64encode(part).rstrip(b"=") for part in parts)


_FLOODS = {
    "100 MB": ("Content-Length: 100000000\r\n\r\n", b" " * 100_000),
    "single bytes": ("Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n" * 1000),
    "endless head": ("X: x\r\n", b"X: x\r\n" * 1000),
    "early hints": ("", b"HTTP/1.1 103 Early Hints\r\nLink: </>; rel=preload\r\n\r\n" * 30),
}
"""Rest of the response head (the whole response if empty), and a piece that is then sent again and again."""

_REPETITIONS = 60


class IssuerServer:
    """Answers with `body` unless `misbehave` is set; `asked` counts requests."""

    def __init__(self) -> None:
        self.body, self.status, self.fields, self.asked = ALL, "200 OK", "", 0
        self.misbehave: str | None = None
        self.url = ""

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            self.asked += 1
            await self._answer(writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(self, writer: asyncio.StreamWriter) -> None:
        location = f"Location: {self.url}/elsewhere\r\n"
        start = f"HTTP/1.1 {self.status}\r\n{location}{self.fields}Connection: close\r\n"
        match self.misbehave:
            case "silent":
                await asyncio.sleep(3600)
            case "drips":
                writer.write(f"{start}Content-Length: 1000000\r\n\r\n".encode())
                while True:
                    writer.write(b" ")
                    await writer.drain()
                    await asyncio.sleep(0.5)
            case "hangs up":
                return
            case str():
                begin, more = _FLOODS[self.misbehave]
                writer.write(f"{start if begin else ''}{begin}".encode())
                for _ in range(_REPETITIONS):
                    writer.write(more)
                    await writer.drain()
            case _:
                writer.write(f"{start}Content-Length: {len(self.body)}\r\n\r\n".encode() + self.body)
        await writer.drain()


@asynccontextmanager
async def issuing():
    server = IssuerServer()
    listening = await asyncio.start_server(server.answer, "127.0.0.1", 0)
    host, port = listening.sockets[0].getsockname()
    server.url = f"http://{host}:{port}"
    try:
        yield server
    finally:
        await stop_accepting(listening)
