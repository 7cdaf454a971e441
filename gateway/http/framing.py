"""A bound on what a client may send that ends no head and brings no body forward.

aiohttp bounds each line of a head and how many there are: a megabyte in all, two as the parser keeps it.
Trailers of a chunked body have the same bounds.
"""

from aiohttp import StreamReader

MAX_BYTES = 16_384


class Framing:
    """What one connection has sent since its last whole head or its body's last byte."""

    __slots__ = ("_body_bytes", "_bytes", "_requests")

    def __init__(self) -> None:
        self._requests = 0
        self._body_bytes = 0
        self._bytes = 0

    def restart(self, requests: int) -> None:
        """Another head is whole: so many were so far."""
        self._requests = requests
        self._bytes = 0

    def is_too_long(self, size: int, requests: int, body: StreamReader) -> bool:
        """Count `size` bytes more; `requests` is the number of whole heads so far, `body` the last one's."""
        if requests != self._requests:
            self.restart(requests)
        elif body.total_bytes != self._body_bytes:
            self._body_bytes = body.total_bytes
            self._bytes = 0
        else:
            self._bytes += size
        return self._bytes > MAX_BYTES
