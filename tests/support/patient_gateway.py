"""`python -m tests.support.patient_gateway` is `kvs-gateway` with long deadlines, blind to short standstills.

For tests of what comes of calls that are answered, on a machine that may be too busy to answer in 250 ms.
"""

from gateway.cli.main import main
from tests.support.redis.deadlines import LONG_SECONDS, deadlines_of

if __name__ == "__main__":
    import backends.redis.backend  # noqa: F401 - so that there is something to patch
    from backends.dynamodb import client
    from gateway.http import connection, fence

    client.ATTEMPT_SECONDS, client.CALL_SECONDS = LONG_SECONDS, LONG_SECONDS
    fence.STANDSTILL_SECONDS = LONG_SECONDS
    connection.LATE_SECONDS = connection.LATEST_SECONDS = LONG_SECONDS
    with deadlines_of():
        raise SystemExit(main())
