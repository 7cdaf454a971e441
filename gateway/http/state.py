"""The states of a connection, and the one table of the transitions between them.

Two machines describe a connection, and everything else follows from them:

1. `State`: what the connection waits for, or does. It changes by an `Event` alone, as `TRANSITIONS` says. An
   event without an entry in its state is a fault of this program (`UnknownTransition`), never of a client.
2. `Input`: what may still come from the client. It only moves down its list, whatever the state: a client may
   half-close, or send garbage, behind requests that are still to be answered.

The machines are coupled at three places. Once the state is LINGERING or later, bytes that come are dropped,
whatever the input. Once the input is LAST or later and no message is queued, the response that is being made
closes the connection. And RECEIVING means that the body of the request being served has not ended: an end of
the input ends that body, too (the reader of the body learns that it is broken).

The ordinary way is NEW, SERVING, KEPT, SERVING, and so on, with RECEIVING while a body is on the way, UNREAD
while a response waits for its reader, and HEAD once the next head has begun. The end is CLOSING, then CLOSED.
LINGERING comes before it if the client may still be sending, and REFUSED is the same for a connection that
never sent a request. An end that loses bytes is BROKEN.

A client that sends on without reading stays UNREAD: else each further byte would save it from eviction.

While a connection waits for its client, the limiter of connections may evict it. The group in which it waits
follows from its state (`gateway.http.admission`); nothing else records it.
"""

from enum import IntEnum


class State(IntEnum):
    """The state of a connection. Their order counts: from LINGERING on, the connection takes in no more."""

    NEW = 0
    """Has sent no whole head yet. It has `head_seconds`."""
    HEAD = 1
    """Was kept, and has sent a part of its next head. It has `head_seconds` from the first byte."""
    KEPT = 2
    """Is kept between two requests. It has `idle_seconds`."""
    SERVING = 3
    """A whole request is being served, or is queued."""
    RECEIVING = 4
    """A request is being served while its body is on the way."""
    UNREAD = 5
    """A response waits until the client has read enough of it. It has `write_seconds`."""
    LINGERING = 6
    """The last response is written and the sending side shut down; the client has a moment to close."""
    REFUSED = 7
    """As LINGERING, after a refusal of something that never was a request. No task serves the connection."""
    CLOSING = 8
    """The transport closes once all that was written has left. It has `write_seconds`."""
    BROKEN = 9
    """Aborted by the gateway, or reset by the client: a part of the last response may be lost."""
    CLOSED = 10
    """Closed in order."""


class Event(IntEnum):
    """An event that a state can see."""

    PIECE = 0
    """Bytes came that complete no head."""
    MESSAGE = 1
    """A message was queued: a whole head, or what is not HTTP."""
    AWAIT_BODY = 2
    """The next request is served before its body has ended."""
    BODY_ENDED = 3
    """The body of the request being served has ended, or will never come whole."""
    BLOCK = 4
    """A response is written, and the client does not read as fast as that."""
    DRAINED = 5
    """The client has read enough of it."""
    KEEP = 6
    """A response is written, nothing is queued, and another request may follow."""
    SHUT_DOWN = 7
    """A last response is written, and bytes of the client may still be on the way."""
    REFUSE = 8
    """There is no room for the connection, or its head is late or has no end."""
    CLOSE = 9
    """Nothing more will be written."""
    ABORT = 10
    """The connection is evicted, or its last deadline has passed."""
    LOST = 11
    """The transport has closed."""
    RESET = 12
    """The transport has closed with an error."""


class Input(IntEnum):
    """Rest of the client's input."""

    OPEN = 0
    """Messages."""
    LAST = 1
    """The rest of the last message's body. Later bytes are dropped unparsed (`gateway.http.cutting`)."""
    DROPPED = 2
    """Nothing of use: what came is not HTTP, or its framing has no end."""
    ENDED = 3
    """Nothing: the client has closed its sending side."""


# Bound to names of the module, because Python 3.11 finds a member of an enum by a call (75 ns).
NEW, HEAD, KEPT, SERVING, RECEIVING, UNREAD, LINGERING, REFUSED, CLOSING, BROKEN, CLOSED = State
(
    PIECE, MESSAGE, AWAIT_BODY, BODY_ENDED, BLOCK, DRAINED, KEEP, SHUT_DOWN, REFUSE,
    CLOSE, ABORT, LOST, RESET,
) = Event  # fmt: skip
OPEN, LAST, DROPPED, ENDED = Input

_ENDS = {CLOSE: CLOSING, ABORT: BROKEN, LOST: CLOSED, RESET: BROKEN}

TRANSITIONS: dict[State, dict[Event, State]] = {
    NEW:       {MESSAGE: SERVING, REFUSE: REFUSED, **_ENDS},
    HEAD:      {MESSAGE: SERVING, REFUSE: REFUSED, **_ENDS},
    KEPT:      {MESSAGE: SERVING, REFUSE: REFUSED, PIECE: HEAD, **_ENDS},
    SERVING:   {
        MESSAGE: SERVING, AWAIT_BODY: RECEIVING, BLOCK: UNREAD, KEEP: KEPT, SHUT_DOWN: LINGERING, **_ENDS,
    },
    RECEIVING: {MESSAGE: SERVING, BODY_ENDED: SERVING, BLOCK: UNREAD, SHUT_DOWN: LINGERING, **_ENDS},
    UNREAD:    {MESSAGE: UNREAD, DRAINED: SERVING, **_ENDS},
    LINGERING: _ENDS,
    REFUSED:   _ENDS,
    # over TLS no client half-closes: a request that came right before the end is served, and not answered
    CLOSING:   {AWAIT_BODY: CLOSING, SHUT_DOWN: CLOSING, ABORT: BROKEN, LOST: CLOSED, RESET: BROKEN},
    BROKEN:    {LOST: BROKEN, RESET: BROKEN},
    CLOSED:    {},
}  # fmt: skip

AWAITS_HEAD = frozenset({NEW, HEAD})
IDLE = frozenset({NEW, HEAD, KEPT})
BUSY = frozenset({SERVING, RECEIVING, UNREAD, LINGERING})


class UnknownTransition(Exception):
    """An event came in a state that does not know it."""

    def __init__(self, state: State, event: Event) -> None:
        super().__init__(f"{event.name} in {state.name}")
