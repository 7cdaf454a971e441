# How to build it for two platforms, to the same digest each time, with labels: docs/image.md
FROM python:3.14.10-slim-trixie AS python

FROM python AS build
WORKDIR /source
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .
# Without pip, which nothing here needs; the base keeps its own. Modules are compiled here, because later nothing is
# written, and without the time of their source, so that the same source gives the same bytes; also those that pip has
# compiled by importing them (-f).
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
# A number, so that runAsNonRoot can be checked; the same as in deploy/base/deployment.yaml.
USER 10001:10001
EXPOSE 8080 9090
# No HEALTHCHECK: Kubernetes ignores it, and asks /livez and /readyz by itself.
ENTRYPOINT ["kvs-gateway"]
CMD ["serve", "--config", "/etc/kvs-gateway/config.yaml"]
# The commit that it is built from; last, so that another one builds no layer anew.
ARG REVISION=""
ARG CREATED=""
LABEL org.opencontainers.image.title="kvs-gateway" \
      org.opencontainers.image.description="An authenticated, rate-limited, metered key-value edge" \
      org.opencontainers.image.version="0.2.0" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.url="https://forge.example/kvs-gateway" \
      org.opencontainers.image.source="https://forge.example/kvs-gateway" \
      org.opencontainers.image.documentation="https://forge.example/kvs-gateway/docs/image.md" \
      org.opencontainers.image.base.name="docker.io/library/python:3.14.10-slim-trixie" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.created="$CREATED"
