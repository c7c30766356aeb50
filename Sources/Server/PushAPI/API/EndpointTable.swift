package import PushModel
package import PushTransport

/// The endpoints of a server by method and path.
package struct EndpointTable: Sendable {
    struct Match: Sendable {
        let endpoint: AnyEndpoint
        let index: Int
        let parameters: [String: String]
    }

    /// A position in the tree of paths. A node has few words, so that a search needs no hash.
    private struct Node: Sendable {
        var words: [(bytes: [UInt8], node: Int)] = []
        var parameter: (name: String, node: Int)?
        var endpoints: [Int] = []

        func next(_ segment: ArraySlice<UInt8>) -> Int? {
            words.first { $0.bytes.count == segment.count && $0.bytes.elementsEqual(segment) }?.node
        }
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
            } else if let known = nodes[at].next(Array(part.utf8)[...]) {
                at = known
            } else {
                nodes.append(Node())
                nodes[at].words.append((Array(part.utf8), nodes.count - 1))
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
        var parameters: [String: String] = [:]
        let head = request.head
        let found =
            head.hasPlainPath
            ? find(head.encodedPath, parameters: &parameters) : find(head.path, parameters: &parameters)
        guard let at = found else { throw notFound(request) }
        let candidates = nodes[at].endpoints
        guard !candidates.isEmpty else { throw notFound(request) }
        for index in candidates where endpoints[index].operation.allows(request.method) {
            return Match(endpoint: endpoints[index], index: index, parameters: parameters)
        }
        let allowed = candidates.flatMap { endpoints[$0].operation.methods }.map(\.rawValue).joined(separator: ", ")
        var problem = Problem(
            .methodNotAllowed,
            detail: "\(request.method.rawValue) is not allowed at \(request.target); use \(allowed)")
        problem.allow = allowed
        throw problem
    }

    /// Follows a path that needs no decoding. Text is made of parameters only.
    private func find(_ path: ArraySlice<UInt8>, parameters: inout [String: String]) -> Int? {
        let slash = UInt8(ascii: "/")
        var at = 0
        var rest = path.dropFirst()
        // The path "/" has no segment.
        var isAtEnd = rest.isEmpty
        while !isAtEnd {
            let end = rest.firstIndex(of: slash) ?? rest.endIndex
            let segment = rest[..<end]
            isAtEnd = end == rest.endIndex
            rest = rest[end...].dropFirst()
            if let next = nodes[at].next(segment) {
                at = next
            } else if !segment.isEmpty, let parameter = nodes[at].parameter {
                parameters[parameter.name] = String(decoding: segment, as: UTF8.self)
                at = parameter.node
            } else {
                return nil
            }
        }
        return at
    }

    /// Follows a path that was decoded.
    private func find(_ path: [String], parameters: inout [String: String]) -> Int? {
        var at = 0
        for segment in path {
            if let next = nodes[at].next(Array(segment.utf8)[...]) {
                at = next
            } else if !segment.isEmpty, let parameter = nodes[at].parameter {
                parameters[parameter.name] = segment
                at = parameter.node
            } else {
                return nil
            }
        }
        return at
    }

    private func notFound(_ request: HTTP1Request) -> Problem {
        Problem(.notFound, detail: "there is nothing at \(request.target)")
    }

    /// Answers a request of a caller without a server, except by endpoints that respond in their own time.
    package func answer(_ request: HTTP1Request, for caller: Caller = .local) async -> APIAnswer {
        do throws(Problem) {
            let match = try match(request)
            switch match.endpoint.handling {
            case .immediate(let answer): return answer(request, match.parameters, caller)
            case .task(let answer): return await answer(request, match.parameters, caller)
            case .responding:
                throw Problem(.internal, detail: "\(request.target) needs a connection")
            }
        } catch {
            return APIAnswer(error)
        }
    }
}
