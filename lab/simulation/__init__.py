"""A whole region in one thread and virtual time: real gateways, a simulated store, one seed (D111)."""
