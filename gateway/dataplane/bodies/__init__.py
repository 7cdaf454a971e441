"""Stage 7: from the body of a call to an operation that is valid by construction.

parsing     one function for each operation
batches     the operations of a batch
decoding    JSON objects, whose fields stay as they were sent
fields      a field as a key, value, time to live or number
conditions  `If-Match` and `If-None-Match`
pages       the cursors and the size of a list's pages
"""

from gateway.dataplane.bodies.pages import listed
from gateway.dataplane.bodies.parsing import parse

__all__ = ["listed", "parse"]
