from tests.backends.redis.conftest import long_deadlines, quiet_loop

__all__ = ["long_deadlines", "quiet_loop"]
