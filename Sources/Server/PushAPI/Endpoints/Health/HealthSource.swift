/// The state of a running Carillon, for health checks and scrapers.
package protocol HealthSource: Sendable {
    func readiness() async -> Readiness
    /// Returns the metrics in the text format of Prometheus.
    func metrics() async -> String
}
