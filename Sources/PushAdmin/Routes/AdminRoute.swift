package import PushTransport

/// A request as the handler of its route sees it.
package struct AdminRequest: Sendable {
    /// The parts of the path for which the pattern has a name in braces.
    package let parameters: [String: String]
    /// The query parameters that the route takes, each at most once.
    package var query = AdminQuery()
    package let body: [UInt8]

    package func parameter(_ name: String) -> String { parameters[name] ?? "" }
}

/// A method, a path such as `/v1/gateways/{app}`, and the handler that answers requests for them.
package struct AdminRoute: Sendable {
    package typealias Handler = @Sendable (AdminRequest) async throws -> any Encodable & Sendable
    /// A handler that returns encoded JSON.
    package typealias WrittenHandler = @Sendable (AdminRequest) async throws -> [UInt8]
    /// A handler that decides status and media type.
    package typealias AnsweringHandler = @Sendable (AdminRequest) async throws -> AdminAnswer

    private enum Part: Sendable {
        case word(String)
        case parameter(String)
    }

    let method: HTTP1Method
    /// The query parameters that the route takes.
    let query: [String]
    let answer: AnsweringHandler
    /// The answer of a route that needs no `await`, with its path as clients send it. Its requests do not become tasks.
    private(set) var atOnce: (path: [UInt8], answer: @Sendable () -> AdminAnswer)?
    private let parts: [Part]

    package init(_ method: HTTP1Method, at pattern: String, query: [String] = [], handler: @escaping Handler) {
        self.init(method, pattern: pattern, query: query) { .json(try await handler($0)) }
    }

    package static func written(
        _ method: HTTP1Method, at pattern: String, query: [String] = [], handler: @escaping WrittenHandler
    ) -> AdminRoute {
        AdminRoute(method, pattern: pattern, query: query) { AdminAnswer(status: 200, body: try await handler($0)) }
    }

    package static func answered(
        _ method: HTTP1Method, at pattern: String, query: [String] = [], handler: @escaping AnsweringHandler
    ) -> AdminRoute {
        AdminRoute(method, pattern: pattern, query: query, answer: handler)
    }

    /// A route without parameters whose answer is there at once.
    package static func immediate(
        _ method: HTTP1Method, at path: String, handler: @escaping @Sendable () -> AdminAnswer
    ) -> AdminRoute {
        var route = AdminRoute(method, pattern: path, query: []) { _ in handler() }
        route.atOnce = (path: Array(path.utf8), answer: handler)
        return route
    }

    private init(_ method: HTTP1Method, pattern: String, query: [String], answer: @escaping AnsweringHandler) {
        self.method = method
        self.query = query
        self.answer = answer
        parts = pattern.split(separator: "/").map { part in
            part.hasPrefix("{") && part.hasSuffix("}")
                ? .parameter(String(part.dropFirst().dropLast())) : .word(String(part))
        }
    }

    /// The methods that the route answers: a route for GET also answers HEAD, whose answer has no body.
    var methods: [HTTP1Method] { method == .get ? [.get, .head] : [method] }

    /// Returns the parameters of the path, or nil if the path does not match the pattern.
    func match(_ path: [String]) -> [String: String]? {
        guard path.count == parts.count else { return nil }
        var parameters: [String: String] = [:]
        for (part, segment) in zip(parts, path) {
            switch part {
            case .word(let word): guard word == segment else { return nil }
            case .parameter(let name):
                guard !segment.isEmpty else { return nil }
                parameters[name] = segment
            }
        }
        return parameters
    }
}
