"""Where callers' secrets come from: a file, tokens that carry their own proof, a proxy that vouches."""
