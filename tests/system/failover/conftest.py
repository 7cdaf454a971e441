from tests.backends.redis.conftest import quiet_loop

__all__ = ["quiet_loop"]
