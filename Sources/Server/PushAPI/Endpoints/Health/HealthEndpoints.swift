/// The endpoints that are open to all.
package enum HealthEndpoints {
    package static func all(_ source: any HealthSource) -> [AnyEndpoint] {
        [
            AnyEndpoint(now: GetHealth()), AnyEndpoint(GetReadiness(source: source)),
            AnyEndpoint(GetMetrics(source: source)),
        ]
    }
}
