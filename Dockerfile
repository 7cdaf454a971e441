# Reproducible builds for two platforms, with labels: docs/image.md
FROM python:3.14.10-slim-trixie AS python

FROM python AS build
WORKDIR /source
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .
# The environment needs no pip (that of the base image remains). Modules are compiled here because the running container
# cannot write files, and by hash instead of source time so that builds are reproducible. -f also recompiles modules that
# pip compiled when it imported them.
RUN python -m venv --without-pip /opt/kvs-gateway \
    && pip --python /opt/kvs-gateway/bin/python install --no-cache-dir --no-compile --only-binary :all: \
        --require-hashes --requirement requirements.lock \
    && pip --python /opt/kvs-gateway/bin/python install --no-cache-dir --no-compile --no-deps \
        --no-index --find-links /wheels kvs-gateway \
    && python -m compileall -q -f --invalidation-mode unchecked-hash /opt/kvs-gateway/lib

FROM python
ENV PATH=/opt/kvs-gateway/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1
COPY --from=build /opt/kvs-gateway /opt/kvs-gateway
WORKDIR /
# Numeric, because Kubernetes cannot check runAsNonRoot for a name; the same user as in deploy/base/deployment.yaml.
USER 10001:10001
EXPOSE 8080 9090
# No HEALTHCHECK: Kubernetes ignores it and probes /livez and /readyz.
ENTRYPOINT ["kvs-gateway"]
CMD ["serve", "--config", "/etc/kvs-gateway/config.yaml"]
# Source commit; last, so that a new commit does not invalidate cached layers.
ARG REVISION=""
ARG CREATED=""
LABEL org.opencontainers.image.title="kvs-gateway" \
      org.opencontainers.image.description="An authenticated, rate-limited, metered key-value gateway" \
      org.opencontainers.image.version="0.2.0" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.url="https://forge.example/kvs-gateway" \
      org.opencontainers.image.source="https://forge.example/kvs-gateway" \
      org.opencontainers.image.documentation="https://forge.example/kvs-gateway/docs/image.md" \
      org.opencontainers.image.base.name="docker.io/library/python:3.14.10-slim-trixie" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.created="$CREATED"
