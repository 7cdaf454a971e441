"""A whole region in one thread and no time: real gateways, a simulated network and store, one seed (D111)."""
