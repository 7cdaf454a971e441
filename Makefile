# `make run`, `make test` and `make test-all` need Python 3.11 or newer, git, make and a package registry; they install the rest.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
CONFIG ?= config.example.yaml

.PHONY: help run test test-all test-aiohttp-next flaky faults check format bench clean chromium screenshots redis dynamodb prometheus faketime manifests kustomize helm chart schemas clients cluster fuzz lock audit licences release

help:
	@echo "make run     start the gateway on $(CONFIG) and print requests to try"
	@echo "make test    every rule of every room, on memory, Redis and DynamoDB: minutes"
	@echo "make test-all  the rest: outages, failovers, billing, other engines, signers, manifests"
	@echo "make test-aiohttp-next  the tests of HTTP with the newest release of aiohttp"
	@echo "make flaky N=20 TIER=test  a tier N times beside busy loops; lists what failed"
	@echo "make screenshots  docs/console/*.png"
	@echo "make faults  break everything for half an hour; one table of what held"
	@echo "make cluster  as root: a real Kubernetes on this machine, and what is proved on it; KEEP=1 leaves it for a look"
	@echo "make check   lint, types, import contracts, language, manifests"
	@echo "make format  lay out the code"
	@echo "make bench   speed beside its peers, scale, cost per stage: benchmarks/results"
	@echo "make fuzz    inputs led by coverage, FUZZ_SECONDS=60 for each target"
	@echo "make audit   known vulnerabilities of what the image installs"
	@echo "make lock, make licences, make chart   requirements.lock, LICENSES.md, deploy/chart"
	@echo "make release  everything that is published, with checksums: dist"

run: $(VENV)/.run
ifeq ($(CONFIG),config.example.yaml)
	@sed -n '/^<!-- try -->$$/,/^<!-- end of try -->$$/p' README.md | grep -v -e '^<!--' -e '^```'
endif
	@exec $(BIN)/kvs-gateway serve --config $(CONFIG)

# Workers and gateways are hundreds of processes that import the same code: its bytecode is kept.
unexport PYTHONDONTWRITEBYTECODE

# tests/README.md says which tests each of the two runs; together they run every test that is not marked heavy.
TESTS := -m "not test_all and not heavy" --numprocesses 4 --dist worksteal --ignore tests/system --ignore lab
TESTS-ALL := -m "test_all and not heavy"

# Each TLS context of Python, and there are thousands, loads the authorities that the machine trusts: 30 ms of CPU
# for certificates that no test of this tier needs.
AUTHORITY := $(abspath tests/support/authority.pem)
NO-AUTHORITIES := SSL_CERT_FILE=$(AUTHORITY) SSL_CERT_DIR=$(dir $(AUTHORITY)) AWS_CA_BUNDLE=$(AUTHORITY)

test: $(VENV)/.dev redis
	$(NO-AUTHORITIES) $(BIN)/python -m pytest $(TESTS)

test-all: $(VENV)/.dev $(VENV)/.release redis dynamodb prometheus faketime kustomize helm schemas clients chromium
	$(BIN)/python -m pytest $(TESTS-ALL)

# An environment of its own, so that nothing else notices.
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
	$(BIN)/python -m lab.flaky $(N) $(if $(filter test-all,$(TIER)),$(TESTS-ALL),$(TESTS))

faults: $(VENV)/.dev redis dynamodb prometheus faketime
	$(BIN)/python -m lab.faults

# As root: installs packages of Debian where they are missing, builds the rest once. KEEP=1 leaves the cluster until
# Ctrl-C; BEFORE=commit is what an upgrade starts from; PROOFS=… are arguments of pytest in place of all proofs.
cluster: $(VENV)/.dev helm
	@$(BIN)/python -m lab.cluster $(if $(KEEP),--keep) $(if $(BEFORE),--before $(BEFORE)) $(PROOFS)

# The tests start their own servers; where the machine has no Redis, one goes into the virtual environment.
redis: $(VENV)/.dev
	@command -v redis-server >/dev/null || test -x $(BIN)/redis-server || sh tests/support/redis/install.sh $(BIN)

# Where it cannot be had, tests of billing and of alerts are skipped.
prometheus: $(VENV)/.dev
	@{ command -v prometheus && command -v promtool; } >/dev/null || \
		{ test -x $(BIN)/prometheus && test -x $(BIN)/promtool; } || sh tests/support/prometheus/install.sh $(BIN)

# Where it cannot be had, clocks do not jump, and those tests are skipped.
faketime: $(VENV)/.dev
	@test -e $(VENV)/lib/libfaketime.so.1 || ls /usr/lib/*/faketime/libfaketime.so.1 >/dev/null 2>&1 || \
		sh tests/support/faketime/install.sh $(VENV)/lib

# Where it cannot be had, tests of the console are skipped.
chromium: $(VENV)/.dev
	@command -v chromium >/dev/null && test -e $(VENV)/axe-core/package/axe.min.js || \
		sh tests/support/chromium/install.sh $(VENV)

# The pictures of docs/console.
screenshots: chromium
	$(BIN)/python -m tests.system.console

# The other engines for DynamoDB are packages; AWS's own needs Java, and where it cannot be had tests are skipped.
dynamodb: $(VENV)/dynamodb-local/ready

LOCAL := tests/support/dynamodb/local
$(VENV)/dynamodb-local/ready: $(VENV)/.venv $(LOCAL)/install.sh $(LOCAL)/pom.xml $(LOCAL)/OnLoopback.java
	@sh $(LOCAL)/install.sh $(VENV)/dynamodb-local

NODE-MODULES := clients/javascript/node_modules/.package-lock.json
$(NODE-MODULES): clients/javascript/package-lock.json
	@command -v npm >/dev/null || exit 0; \
		npm ci --prefix clients/javascript --ignore-scripts --no-audit --no-fund --loglevel=error

# The drivers of the scenarios in clients/scenarios.yaml; what a machine has no language for is left out.
clients: $(VENV)/clients/python/.installed $(NODE-MODULES)
	@command -v go >/dev/null || exit 0; cd clients/go && go build -o "$(abspath $(VENV))/clients/go/driver" ./internal/driver

# An environment of its own: the client stands without the gateway.
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

# Renders every overlay and combination of deploy/, validates and checks them: as tests, which `make test-all` runs, too.
manifests: $(VENV)/.dev kustomize
	$(BIN)/python -m pytest --quiet tests/system/deploy/test_manifests.py

kustomize: $(VENV)/.dev
	@kubectl version --client 2>/dev/null | grep -qi kustomize || command -v kustomize >/dev/null || \
		test -x $(BIN)/kustomize || sh tests/support/kustomize/install.sh $(BIN)

# Where it cannot be had, tests of the chart are skipped. Building it takes minutes, once.
helm: $(VENV)/.dev
	@command -v helm >/dev/null || test -x $(BIN)/helm || sh tests/support/helm/install.sh $(BIN)

# The schema of the chart's values, from the gateway's settings.
chart: $(VENV)/.dev
	$(BIN)/python -m tests.project.chart

# Where they cannot be had, custom resources and the Compose file are not validated, and those tests are skipped.
SCHEMAS := tests/support/schemas
schemas: $(VENV)/.dev
	@cmp -s $(SCHEMAS)/files.txt $(VENV)/schemas/files.txt || sh $(SCHEMAS)/install.sh $(BIN) "$(abspath $(VENV))/schemas"

# Led by coverage, so long for each target; atheris is there for Linux on x86-64.
FUZZ_SECONDS ?= 60
fuzz: $(VENV)/.dev
	@$(BIN)/pip install --quiet 'atheris >=3'
	@for target in $$(ls tests/fuzz/corpus); do \
		$(BIN)/python -m lab.fuzz $$target --seconds $(FUZZ_SECONDS) || exit 1; done

# What the image installs, by hash; Python 3.11 and newer, every platform. setup.cfg alone decides for everybody else.
lock: $(VENV)/.venv
	$(BIN)/pip install --quiet 'uv >=0.9'
	UV_CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/uv pip compile setup.cfg --extra otel --universal --python-version 3.11 \
		--generate-hashes --no-emit-index-url --no-emit-find-links --quiet --output-file requirements.lock

# Fails, too, where a package cannot be looked up: what was not looked at is not safe.
audit: $(VENV)/.venv
	$(BIN)/pip install --quiet 'pip-audit >=2.10'
	$(BIN)/pip-audit --strict --disable-pip --require-hashes --requirement requirements.lock

licences: $(VENV)/.dev
	$(BIN)/python -m tests.project.licences > LICENSES.md

# From a clean commit. CONTRIBUTING.md says what comes before and after.
release: $(VENV)/.release helm
	$(BIN)/python -m release

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# BENCH_QUICK=1 shows that it works, in a minute, on the cheap rows. The peers are fetched or built once; Dapr's
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
	@echo "installing what tests and checks need into $(VENV)"
	@$(BIN)/pip install --quiet --editable '.[dev]'
	@touch $@

$(VENV)/.bench: $(VENV)/.dev
	@echo "installing what the benchmark needs into $(VENV)"
	@$(BIN)/pip install --quiet --editable '.[dev,bench]'
	@touch $@

$(VENV)/.release: $(VENV)/.dev
	@echo "installing what a release needs into $(VENV)"
	@$(BIN)/pip install --quiet --editable '.[dev,release]'
	@touch $@
