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
        let start = MonotonicTime.current()
        let matches = routes.indices.compactMap { index in
            routes[index].match(request.path).map { Match(index: index, route: routes[index], parameters: $0) }
        }
        let answer = await answer(request, matches: matches)
        if let metrics, let unknown {
            metrics.record(
                matches.first.map { handles[$0.index] } ?? unknown, method: request.method.rawValue,
                status: answer.status, time: .current() - start)
        }
        return answer
    }

    /// A route whose pattern the path of a request matches.
    private struct Match {
        let index: Int
        let route: AdminRoute
        let parameters: [String: String]
    }

    private func answer(_ request: HTTP1Request, matches: [Match]) async -> AdminAnswer {
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
