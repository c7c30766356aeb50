package import PushLoop
import Synchronization

/// The counters of requests and the histograms of their durations, by route.
///
/// The routes, methods and statuses are closed sets, so that no client can create series. A request costs a few atomic
/// additions: its route is registered at the start and has a handle.
package final class HTTPMetrics: Sendable {
    /// A registered route. It belongs to the metrics that returned it.
    package struct Route: Sendable {
        fileprivate let index: Int
    }

    /// The label of requests for which there is no route.
    package static let unknownRoute = "none"
    private static let other = "other"
    private static let methods = ["GET", "HEAD", "POST", "PUT", "DELETE", other]
    private static let statuses = [
        200, 201, 202, 204, 304, 400, 401, 403, 404, 405, 408, 409, 413, 414, 415, 417, 421, 422, 429, 431, 500, 501,
        503,
        505,
    ]

    /// The requests of one route, by method and status. The last status of each method counts all other ones.
    private final class Counts: Sendable {
        let pattern: String
        let seconds: Histogram
        private let totals: [Total]

        private final class Total: Sendable {
            let value = Atomic<UInt64>(0)
        }

        init(_ pattern: String, seconds: Histogram) {
            self.pattern = pattern
            self.seconds = seconds
            totals = (0..<HTTPMetrics.methods.count * (HTTPMetrics.statuses.count + 1)).map { _ in Total() }
        }

        func count(method: Int, status: Int) {
            totals[Self.place(method: method, status: status)].value.wrappingAdd(1, ordering: .relaxed)
        }

        func value(method: Int, status: Int) -> UInt64 {
            totals[Self.place(method: method, status: status)].value.load(ordering: .relaxed)
        }

        private static func place(method: Int, status: Int) -> Int {
            method * (HTTPMetrics.statuses.count + 1) + status
        }
    }

    private let routes: [Counts]

    /// - Parameter patterns: the labels of all routes, such as `/v1/gateways/{app}`. Repetitions are harmless.
    package init(_ patterns: [String], in registry: MetricsRegistry) {
        var known: Set<String> = []
        let routes = (patterns + [Self.unknownRoute]).filter { known.insert($0).inserted }.map { pattern in
            Counts(
                pattern,
                seconds: registry.histogram(
                    "carillon_http_request_seconds",
                    help: "Time from the arrival of a request to its answer, by route.",
                    labels: ["route": pattern]))
        }
        self.routes = routes
        registry.computedCounters(
            "carillon_http_requests_total", help: "Answered HTTP requests, by route, method and status.",
            labels: ["route", "method", "status"]
        ) { routes.flatMap { Self.values(of: $0) } }
    }

    /// Returns the handle of a route, which is looked up once, at the start. A pattern that was not registered gets the
    /// handle of ``unknownRoute``.
    package func route(_ pattern: String) -> Route {
        Route(index: routes.firstIndex { $0.pattern == pattern } ?? routes.count - 1)
    }

    /// Counts an answered request.
    package func record(_ route: Route, method: String, status: Int, time: Duration) {
        guard routes.indices.contains(route.index) else { return }
        count(route, method: method, status: status)
        routes[route.index].seconds.observe(time)
    }

    /// Counts a request that was refused before it had arrived, so that there is no time to record.
    func count(_ route: Route, method: String, status: Int) {
        guard routes.indices.contains(route.index) else { return }
        routes[route.index].count(
            method: Self.methods.firstIndex(of: method) ?? Self.methods.count - 1,
            status: Self.statuses.firstIndex(of: status) ?? Self.statuses.count)
    }

    private static func values(of counts: Counts) -> [MetricValue] {
        methods.indices.flatMap { method in
            (0...statuses.count).compactMap { status in
                let value = counts.value(method: method, status: status)
                guard value > 0 else { return nil }
                let label = status < statuses.count ? "\(statuses[status])" : other
                return MetricValue(labels: [counts.pattern, methods[method], label], value: Double(value))
            }
        }
    }
}
