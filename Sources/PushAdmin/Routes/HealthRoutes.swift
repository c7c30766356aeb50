import PushLoop
import PushText

/// The state of a running Carillon, for health checks and scrapers.
package protocol HealthSource: Sendable {
    func readiness() async -> Readiness
    /// Returns the metrics in the text format of Prometheus.
    func metrics() async -> String
}

/// `/healthz`, `/readyz` and `/metrics`: whether the process is alive, whether it can send pushes, and its metrics.
/// `/readyz?app=shop` judges that app alone.
package enum HealthRoutes {
    package static func all(_ source: any HealthSource) -> [AdminRoute] {
        [
            .answered(.get, at: "/healthz") { _ in
                AdminAnswer(status: 200, body: Array("ok\n".utf8), type: "text/plain; charset=utf-8")
            },
            .answered(.get, at: "/readyz", query: ["app"]) { request in
                var readiness = await source.readiness()
                if let app = request.query.text("app") {
                    guard let alone = readiness.alone(app) else {
                        throw AdminFault.unknownApp(PlainText.line(app, limit: 64))
                    }
                    readiness = alone
                }
                return .json(readiness, status: readiness.ready ? 200 : 503)
            },
            .answered(.get, at: "/metrics") { _ in
                AdminAnswer(
                    status: 200, body: Array(await source.metrics().utf8), type: MetricsRegistry.contentType)
            },
        ]
    }
}
