"""Reads a list page by page, or one page once: `python -m benchmarks.pages URL PAGES [ENCODING]`."""

import os
import sys
from urllib.parse import urljoin
from urllib.request import Request, urlopen


def read_pages(url: str, count: int, encoding: str) -> None:
    """Follow the links of the answers, `count` pages at the most."""
    headers = {
        "Authorization": f"Bearer {os.environ.get('KVS_CONTROL_TOKEN', '')}",
        "Accept-Encoding": encoding,
    }
    for _ in range(count):
        with urlopen(Request(url, headers=headers)) as answer:
            answer.read()
            link = answer.headers.get("Link")
        if link is None:
            break
        url = urljoin(url, link.partition("<")[2].partition(">")[0])


if __name__ == "__main__":
    read_pages(sys.argv[1], int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else "identity")
