"""The rate limit, by itself and over HTTP."""
