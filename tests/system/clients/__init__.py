"""The clients of three languages pass one contract: `clients/README.md`, `clients/scenarios.yaml`."""
