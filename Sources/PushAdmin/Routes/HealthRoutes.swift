import PushLoop

/// The state of a running Carillon, for health checks and scrapers.
package protocol HealthSource: Sendable {
    func readiness() async -> Readiness
    /// Returns the metrics in the text format of Prometheus.
    func metrics() async -> String
}

/// `/healthz`, `/readyz` and `/metrics`: whether the process is alive, whether it can send pushes, and its metrics.
package enum HealthRoutes {
    package static func all(_ source: any HealthSource) -> [AdminRoute] {
        [
            .immediate(.get, at: "/healthz") {
                AdminAnswer(status: 200, body: Array("ok\n".utf8), type: "text/plain; charset=utf-8")
            },
            .answered(.get, at: "/readyz") { _ in
                let readiness = await source.readiness()
                return .json(readiness, status: readiness.ready ? 200 : 503)
            },
            .answered(.get, at: "/metrics") { _ in
                AdminAnswer(
                    status: 200, body: Array(await source.metrics().utf8), type: MetricsRegistry.contentType)
            },
        ]
    }
}
