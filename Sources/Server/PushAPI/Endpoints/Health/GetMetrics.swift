import PushLoop
package import PushModel
package import PushWire

/// `GET /metrics`: the metrics in the text format of Prometheus.
package struct GetMetrics: Endpoint {
    package enum Kind: WrittenKind {
        package static var mediaType: String { MetricsRegistry.contentType }
        package static var schema: JSONValue { ["type": "string"] }
    }

    package static let operation = Operation(
        .get, at: "/metrics", id: "getMetrics", access: .open, subject: "Health",
        summary: "Returns the metrics in the text format of Prometheus.")

    private let source: any HealthSource

    package init(source: any HealthSource) {
        self.source = source
    }

    package func answer(_ input: NoInput, for caller: Caller) async -> Reply<WrittenAnswer<Kind>> {
        Reply(WrittenAnswer(Array(await source.metrics().utf8)))
    }
}
