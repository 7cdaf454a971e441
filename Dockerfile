# docker build --tag registry.example.com/kvs-gateway:0.1.0 .
# To pin by digest: docker buildx imagetools inspect python:3.11.14-slim-bookworm, then python:3.11.14-slim-bookworm@sha256:…
FROM python:3.11.14-slim-bookworm AS python

FROM python AS build
WORKDIR /source
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .
# Without pip: what is not there cannot be used by an intruder. Modules are compiled here, because later nothing is written.
RUN python -m venv --without-pip /opt/kvs-gateway \
    && pip --python /opt/kvs-gateway/bin/python install --no-cache-dir --only-binary :all: \
        --require-hashes --requirement requirements.lock \
    && pip --python /opt/kvs-gateway/bin/python install --no-cache-dir --no-deps /wheels/*.whl

FROM python
LABEL org.opencontainers.image.title="kvs-gateway" \
      org.opencontainers.image.description="An authenticated, rate-limited, metered key-value edge" \
      org.opencontainers.image.version="0.1.0"
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
