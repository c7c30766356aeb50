package import PushTransport

/// The routes of a server, and the answer to every request.
package struct AdminRoutes: Sendable {
    private let routes: [AdminRoute]

    package init(_ routes: [AdminRoute]) {
        self.routes = routes
    }

    package func answer(_ request: HTTP1Request) async -> AdminAnswer {
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
