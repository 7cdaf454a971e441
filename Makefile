# `make run`, `make test` and `make test-all` need Python 3.11 or newer, git, make and a package registry; they install the rest.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
CONFIG ?= config.example.yaml

.PHONY: help run test test-all test-aiohttp-next flaky faults check format bench clean chromium screenshots redis dynamodb prometheus faketime manifests kustomize helm chart schemas clients cluster fuzz lock audit licences release

help:
	@echo "make run     start the gateway on $(CONFIG) and print requests to try"
	@echo "make test    every rule of every room on memory, Redis and DynamoDB, in minutes"
	@echo "make test-all  everything else: outages, failovers, billing, other engines, signers, manifests"
	@echo "make test-aiohttp-next  run the HTTP tests with the newest release of aiohttp"
	@echo "make flaky N=20 TIER=test  run a test tier N times under CPU load to find flaky tests"
	@echo "make screenshots  write docs/console/*.png"
	@echo "make faults  inject faults for half an hour and print one table of results"
	@echo "make cluster  start a real Kubernetes on this machine, as root, and test the gateway in it; KEEP=1 keeps it running"
	@echo "make check   check lint, types, import contracts, language and manifests; print the figures"
	@echo "make format  format the code"
	@echo "make bench   measure speed beside its peers and cost per stage: docs/measurements.md, benchmarks/results"
	@echo "make fuzz    run coverage-guided fuzzing, FUZZ_SECONDS=60 per target"
	@echo "make audit   list known vulnerabilities of the packages in the image"
	@echo "make lock, make licences, make chart   write requirements.lock, LICENSES.md, deploy/chart"
	@echo "make release  build everything that is published, with checksums: dist"

run: $(VENV)/.run
ifeq ($(CONFIG),config.example.yaml)
	@sed -n '/^<!-- try -->$$/,/^<!-- end of try -->$$/p' README.md | grep -v -e '^<!--' -e '^```'
endif
	@exec $(BIN)/kvs-gateway serve --config $(CONFIG)

# Hundreds of test workers and gateways import the same code: keep its bytecode.
unexport PYTHONDONTWRITEBYTECODE

# tests/README.md describes the two tiers; together they run every test that is not marked heavy.
TESTS := -m "not test_all and not heavy" --numprocesses 4 --dist worksteal --ignore tests/system --ignore lab
TESTS-ALL := -m "test_all and not heavy"

# Each TLS context loads the authorities that the machine trusts: 30 ms of CPU, thousands of times,
# for certificates that no test of this tier needs.
AUTHORITY := $(abspath tests/support/authority.pem)
NO-AUTHORITIES := SSL_CERT_FILE=$(AUTHORITY) SSL_CERT_DIR=$(dir $(AUTHORITY)) AWS_CA_BUNDLE=$(AUTHORITY)

test: $(VENV)/.dev redis
	$(NO-AUTHORITIES) $(BIN)/python -m pytest $(TESTS)

test-all: $(VENV)/.dev $(VENV)/.release redis dynamodb prometheus faketime kustomize helm schemas clients chromium
	$(BIN)/python -m pytest $(TESTS-ALL)

# Uses a separate virtual environment.
NEXT := $(VENV)-aiohttp-next
test-aiohttp-next: redis
	@test -x $(NEXT)/bin/python || $(PYTHON) -m venv $(NEXT)
	@$(NEXT)/bin/pip install --quiet --editable '.[dev]'
	@$(NEXT)/bin/pip install --quiet --upgrade aiohttp
	@$(NEXT)/bin/python -c 'import aiohttp; print("aiohttp", aiohttp.__version__)'
	PATH="$(abspath $(BIN)):$$PATH" $(NEXT)/bin/python -m pytest tests/http tests/contract

N ?= 20
TIER ?= test
flaky: $(VENV)/.dev redis dynamodb prometheus faketime kustomize helm
	$(if $(filter test-all,$(TIER)),,$(NO-AUTHORITIES)) $(BIN)/python -m lab.flaky $(N) $(if $(filter test-all,$(TIER)),$(TESTS-ALL),$(TESTS))

faults: $(VENV)/.dev redis dynamodb prometheus faketime
	$(BIN)/python -m lab.faults

# As root: installs missing packages of Debian, builds the rest once. KEEP=1 keeps the cluster until
# Ctrl-C; BEFORE=commit is the version before an upgrade; PROOFS=… are arguments for pytest instead of all proofs.
cluster: $(VENV)/.dev helm
	@$(BIN)/python -m lab.cluster $(if $(KEEP),--keep) $(if $(BEFORE),--before $(BEFORE)) $(PROOFS)

# The tests start their own servers. A machine without Redis gets one in the virtual environment.
redis: $(VENV)/.dev
	@command -v redis-server >/dev/null || test -x $(BIN)/redis-server || sh tests/support/redis/install.sh $(BIN)

# If it is not available, tests of billing and of alerts are skipped.
prometheus: $(VENV)/.dev
	@{ command -v prometheus && command -v promtool; } >/dev/null || \
		{ test -x $(BIN)/prometheus && test -x $(BIN)/promtool; } || sh tests/support/prometheus/install.sh $(BIN)

# If it is not available, tests with clocks that jump are skipped.
faketime: $(VENV)/.dev
	@test -e $(VENV)/lib/libfaketime.so.1 || ls /usr/lib/*/faketime/libfaketime.so.1 >/dev/null 2>&1 || \
		sh tests/support/faketime/install.sh $(VENV)/lib

# If it is not available, tests of the console are skipped.
chromium: $(VENV)/.dev
	@command -v chromium >/dev/null && test -e $(VENV)/axe-core/package/axe.min.js || \
		sh tests/support/chromium/install.sh $(VENV)

# The pictures of docs/console.
screenshots: chromium
	$(BIN)/python -m tests.system.console

# The other engines for DynamoDB are Python packages. AWS's own needs Java; without it its tests are skipped.
dynamodb: $(VENV)/dynamodb-local/ready

LOCAL := tests/support/dynamodb/local
$(VENV)/dynamodb-local/ready: $(VENV)/.venv $(LOCAL)/install.sh $(LOCAL)/pom.xml $(LOCAL)/OnLoopback.java
	@sh $(LOCAL)/install.sh $(VENV)/dynamodb-local

NODE-MODULES := clients/javascript/node_modules/.package-lock.json
$(NODE-MODULES): clients/javascript/package-lock.json
	@command -v npm >/dev/null || exit 0; \
		npm ci --prefix clients/javascript --ignore-scripts --no-audit --no-fund --loglevel=error

# Drivers of the scenarios in clients/scenarios.yaml, for the languages that the machine has.
clients: $(VENV)/clients/python/.installed $(NODE-MODULES)
	@command -v go >/dev/null || exit 0; cd clients/go && go build -o "$(abspath $(VENV))/clients/go/driver" ./internal/driver

# A separate environment: the client does not depend on the gateway.
$(VENV)/clients/python/.installed: $(VENV)/.venv clients/python/pyproject.toml
	@$(PYTHON) -m venv $(VENV)/clients/python
	@$(VENV)/clients/python/bin/pip install --quiet --editable 'clients/python[test]'
	@touch $@

check: $(VENV)/.dev manifests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	cd clients/python && $(abspath $(BIN))/mypy
	$(BIN)/lint-imports
	$(BIN)/kvs-gateway check --config config.example.yaml
	$(BIN)/python -m tests.project.language
	$(BIN)/python -m tests.project.figures

# Renders, validates and checks every overlay and combination of deploy/ by tests, which `make test-all` also runs.
manifests: $(VENV)/.dev kustomize
	$(BIN)/python -m pytest --quiet tests/system/deploy/test_manifests.py

kustomize: $(VENV)/.dev
	@kubectl version --client 2>/dev/null | grep -qi kustomize || command -v kustomize >/dev/null || \
		test -x $(BIN)/kustomize || sh tests/support/kustomize/install.sh $(BIN)

# If it is not available, tests of the chart are skipped. Building it takes minutes, once.
helm: $(VENV)/.dev
	@command -v helm >/dev/null || test -x $(BIN)/helm || sh tests/support/helm/install.sh $(BIN)

# Writes the schema of the chart's values from the gateway's settings.
chart: $(VENV)/.dev
	$(BIN)/python -m tests.project.chart

# If they are not available, the tests that validate custom resources and the Compose file are skipped.
SCHEMAS := tests/support/schemas
schemas: $(VENV)/.dev
	@cmp -s $(SCHEMAS)/files.txt $(VENV)/schemas/files.txt || sh $(SCHEMAS)/install.sh $(BIN) "$(abspath $(VENV))/schemas"

# atheris is available for Linux on x86-64.
FUZZ_SECONDS ?= 60
fuzz: $(VENV)/.dev
	@$(BIN)/pip install --quiet 'atheris >=3'
	@for target in $$(ls tests/fuzz/corpus); do \
		$(BIN)/python -m lab.fuzz $$target --seconds $(FUZZ_SECONDS) || exit 1; done

# Packages of the image by hash, for Python 3.11 and newer on every platform. All other users follow setup.cfg.
lock: $(VENV)/.venv
	$(BIN)/pip install --quiet 'uv >=0.9'
	UV_CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/uv pip compile setup.cfg --extra otel --universal --python-version 3.11 \
		--generate-hashes --no-emit-index-url --no-emit-find-links --quiet --output-file requirements.lock

# Also fails if a package cannot be looked up: an unchecked package is not safe.
audit: $(VENV)/.venv
	$(BIN)/pip install --quiet 'pip-audit >=2.10'
	$(BIN)/pip-audit --strict --disable-pip --require-hashes --requirement requirements.lock

licences: $(VENV)/.dev
	$(BIN)/python -m tests.project.licences > LICENSES.md

# Needs a clean commit. CONTRIBUTING.md describes the steps before and after.
release: $(VENV)/.release helm
	$(BIN)/python -m release

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# BENCH_QUICK=1 runs only the cheap rows, in a minute. The peers are fetched or built once; Dapr's
# sidecar takes minutes and needs Go.
PEERS := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/kvs-gateway-bench
bench: $(VENV)/.bench redis
ifndef BENCH_QUICK
	@sh benchmarks/peers/debian.sh "$(PEERS)"
	@timeout 1200 sh benchmarks/peers/daprd.sh "$(PEERS)" || true
endif
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) $(NEXT)

$(VENV)/.venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.run: $(VENV)/.venv setup.cfg pyproject.toml
	@echo "installing into $(VENV)"
	@$(BIN)/pip install --quiet --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.run
	@echo "installing the requirements of tests and checks into $(VENV)"
	@$(BIN)/pip install --quiet --editable '.[dev]'
	@touch $@

$(VENV)/.bench: $(VENV)/.dev
	@echo "installing the requirements of the benchmark into $(VENV)"
	@$(BIN)/pip install --quiet --editable '.[dev,bench]'
	@touch $@

$(VENV)/.release: $(VENV)/.dev
	@echo "installing the requirements of a release into $(VENV)"
	@$(BIN)/pip install --quiet --editable '.[dev,release]'
	@touch $@
