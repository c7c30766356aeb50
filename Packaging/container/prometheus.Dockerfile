# Prometheus from Debian, with the rules of Carillon. The context is the
# repository.
FROM debian:12-slim

RUN apt-get update \
    && apt-get install -y --no-install-recommends prometheus \
    && rm -rf /var/lib/apt/lists/*

COPY Config/monitoring/carillon.rules.yml Packaging/container/prometheus.yml /etc/carillon-prometheus/

USER prometheus
# The package gives this directory, and not the one above it, to its user.
VOLUME /var/lib/prometheus/metrics2
EXPOSE 9090
ENTRYPOINT ["/usr/bin/prometheus"]
CMD ["--config.file=/etc/carillon-prometheus/prometheus.yml", "--storage.tsdb.path=/var/lib/prometheus/metrics2"]
