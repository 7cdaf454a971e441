"""The clients of three languages pass one set of scenarios: `clients/README.md`, `clients/scenarios.yaml`."""
