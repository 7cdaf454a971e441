"""An issuer: keys, tokens, and a real HTTP server that shows the keys, or misbehaves."""

import asyncio
import json
from base64 import urlsafe_b64encode
from contextlib import asynccontextmanager
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

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
    """A private key's public part as a JWK."""
    for algorithm, kind in KINDS.items():
        if isinstance(private, type(PRIVATE[algorithm])):
            key = kind.to_jwk(private.public_key(), as_dict=True)
    key.pop("key_ops", None)
    return {**key, **({} if key_id is None else {"kid": key_id}), **fields}


def jwks(*keys: dict[str, Any]) -> bytes:
    return json.dumps({"keys": list(keys)}).encode()


ALL = jwks(*(shown(private, algorithm) for algorithm, private in PRIVATE.items()))


def claims(clock: FakeClock, **changes: Any) -> dict[str, Any]:
    """Those of a good token; None leaves one out."""
    now = clock.wall_ms() // 1000
    good = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "exp": now + 600, "nbf": now - 5, "iat": now - 5}
    return {name: value for name, value in {**good, **changes}.items() if value is not None}


def token(
    clock: FakeClock, algorithm: str = "RS256", *, headers: dict | None = None, **changes: Any
) -> bytes:
    header = {"kid": algorithm, **(headers or {})}
    return jwt.encode(claims(clock, **changes), PRIVATE[algorithm], algorithm, headers=header).encode()


def forged(header: dict[str, Any], stated: Any, signature: bytes = b"x") -> bytes:
    """Any header over anything."""
    parts = (json.dumps(header).encode(), json.dumps(stated).encode(), signature)
    return b".".join(urlsafe_b64encode(part).rstrip(b"=") for part in parts)


class IssuerServer:
    """Answers with `body`, unless `misbehave` says otherwise; `asked` counts requests."""

    def __init__(self) -> None:
        self.body, self.status, self.asked = ALL, "200 OK", 0
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
        start = f"HTTP/1.1 {self.status}\r\nLocation: {self.url}/elsewhere\r\nConnection: close\r\n"
        match self.misbehave:
            case "silent":
                await asyncio.sleep(3600)
            case "drips":
                writer.write(f"{start}Content-Length: 1000000\r\n\r\n".encode())
                while True:
                    writer.write(b" ")
                    await writer.drain()
                    await asyncio.sleep(0.5)
            case "100 MB":
                writer.write(f"{start}Content-Length: 100000000\r\n\r\n".encode())
                for _ in range(1000):
                    writer.write(b" " * 100_000)
                    await writer.drain()
            case "hangs up":
                return
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
        listening.close()
