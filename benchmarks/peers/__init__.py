"""The peers: how each is set up, what it is sent, and where it comes from if the machine does not have it."""
