package import PushModel
package import PushTransport

/// The endpoints of a server by method and path.
package struct EndpointTable: Sendable {
    struct Match: Sendable {
        let endpoint: AnyEndpoint
        let index: Int
        let parameters: [String: String]
    }

    /// A position in the tree of paths.
    private struct Node: Sendable {
        var words: [String: Int] = [:]
        var parameter: (name: String, node: Int)?
        var endpoints: [Int] = []
    }

    package let endpoints: [AnyEndpoint]
    private var nodes = [Node()]

    package init(_ endpoints: [AnyEndpoint]) {
        self.endpoints = endpoints
        for (index, endpoint) in endpoints.enumerated() { add(endpoint.operation, index: index) }
    }

    private mutating func add(_ operation: Operation, index: Int) {
        var at = 0
        for part in operation.path.split(separator: "/") {
            if part.hasPrefix("{"), part.hasSuffix("}") {
                let name = String(part.dropFirst().dropLast())
                if let known = nodes[at].parameter {
                    precondition(known.name == name, "\(operation.path): two names for one parameter")
                    at = known.node
                } else {
                    nodes.append(Node())
                    nodes[at].parameter = (name, nodes.count - 1)
                    at = nodes.count - 1
                }
            } else if let known = nodes[at].words[String(part)] {
                at = known
            } else {
                nodes.append(Node())
                nodes[at].words[String(part)] = nodes.count - 1
                at = nodes.count - 1
            }
        }
        let methods = nodes[at].endpoints.map { endpoints[$0].operation.method }
        precondition(!methods.contains(operation.method), "\(operation.method) \(operation.path) has two endpoints")
        nodes[at].endpoints.append(index)
    }

    /// Returns the endpoint of a request.
    ///
    /// - Throws: `not_found` or `method_not_allowed`.
    func match(_ request: HTTP1Request) throws(Problem) -> Match {
        var at = 0
        var parameters: [String: String] = [:]
        for segment in request.path {
            if let next = nodes[at].words[segment] {
                at = next
            } else if !segment.isEmpty, let parameter = nodes[at].parameter {
                parameters[parameter.name] = segment
                at = parameter.node
            } else {
                throw notFound(request)
            }
        }
        let candidates = nodes[at].endpoints
        guard !candidates.isEmpty else { throw notFound(request) }
        for index in candidates where endpoints[index].operation.methods.contains(request.method) {
            return Match(endpoint: endpoints[index], index: index, parameters: parameters)
        }
        let allowed = candidates.flatMap { endpoints[$0].operation.methods }.map(\.rawValue).joined(separator: ", ")
        var problem = Problem(
            .methodNotAllowed,
            detail: "\(request.method.rawValue) is not allowed at \(request.target); use \(allowed)")
        problem.allow = allowed
        throw problem
    }

    private func notFound(_ request: HTTP1Request) -> Problem {
        Problem(.notFound, detail: "there is nothing at \(request.target)")
    }

    /// Answers a request of a caller without a server, except by endpoints that respond in their own time.
    package func answer(_ request: HTTP1Request, for caller: Caller = .local) async -> AdminAnswer {
        do throws(Problem) {
            let match = try match(request)
            switch match.endpoint.handling {
            case .immediate(let answer): return answer(request, match.parameters, caller)
            case .task(let answer): return await answer(request, match.parameters, caller)
            case .responding:
                throw Problem(.internal, detail: "\(request.target) needs a connection")
            }
        } catch {
            return AdminAnswer(error)
        }
    }
}
