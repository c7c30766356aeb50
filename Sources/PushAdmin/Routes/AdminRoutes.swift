package import PushTransport

/// The routes of a server, and the answer to every request.
package struct AdminRoutes: Sendable {
    private let routes: [AdminRoute]
    private let immediate: [AdminRoute]

    package init(_ routes: [AdminRoute]) {
        self.routes = routes
        immediate = routes.filter { $0.atOnce != nil }
    }

    /// Returns the answer to a request whose route needs no `await`, or nil for all other requests.
    package func answerAtOnce(_ request: HTTP1Request) -> AdminAnswer? {
        guard !immediate.isEmpty, request.head.encodedQuery == nil else { return nil }
        let path = request.head.encodedPath
        for route in immediate where route.methods.contains(request.method) {
            if let atOnce = route.atOnce, path.elementsEqual(atOnce.path) { return atOnce.answer() }
        }
        return nil
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
