package import PushLoop
package import PushTransport

/// The routes of a server, and the answer to every request.
package struct AdminRoutes: Sendable {
    private let routes: [AdminRoute]
    private let metrics: HTTPMetrics?
    /// The handle of each route, in the order of `routes`, and the one of requests without a route.
    private let handles: [HTTPMetrics.Route]
    private let unknown: HTTPMetrics.Route?

    /// - Parameter registry: the registry in which requests are counted; nil if they are not counted.
    package init(_ routes: [AdminRoute], countedIn registry: MetricsRegistry? = nil) {
        self.routes = routes
        let metrics = registry.map { HTTPMetrics(routes.map(\.pattern), in: $0) }
        self.metrics = metrics
        handles = metrics.map { metrics in routes.map { metrics.route($0.pattern) } } ?? []
        unknown = metrics?.route(HTTPMetrics.unknownRoute)
    }

    package func answer(_ request: HTTP1Request) async -> AdminAnswer {
        guard let metrics, let unknown else { return await respond(request) }
        let start = MonotonicTime.current()
        let place = routes.firstIndex { $0.match(request.path) != nil }
        let answer = await respond(request)
        metrics.record(
            place.map { handles[$0] } ?? unknown, method: request.method.rawValue, status: answer.status,
            time: .current() - start)
        return answer
    }

    private func respond(_ request: HTTP1Request) async -> AdminAnswer {
        let matches = routes.compactMap { route in route.match(request.path).map { (route: route, parameters: $0) } }
        guard !matches.isEmpty else {
            return .refused(AdminFault(404, code: "not_found", message: "there is nothing at \(request.target)"))
        }
        guard let match = matches.first(where: { $0.route.methods.contains(request.method) }) else {
            let allowed = matches.flatMap(\.route.methods).map(\.rawValue).joined(separator: ", ")
            var answer = AdminAnswer.refused(
                AdminFault(
                    405, code: "method_not_allowed",
                    message: "\(request.method.rawValue) is not allowed at \(request.target); use \(allowed)"))
            answer.allow = allowed
            return answer
        }
        do {
            let query = try AdminQuery(request.query, allowed: match.route.query)
            return try await match.route.answer(
                AdminRequest(parameters: match.parameters, query: query, body: request.body))
        } catch let fault as AdminFault {
            return .refused(fault)
        } catch {
            return .refused(AdminFault(500, code: "internal", message: "\(error)"))
        }
    }
}
