import FoundationEssentials
import PushTransport

/// What a handler gets to see of a request.
struct RoutedRequest: Sendable {
    /// What stood in the path where the pattern has a name in braces.
    let parameters: [String: String]
    /// Only what its route takes, each at most once.
    var query = ControlQuery()
    let body: [UInt8]

    func parameter(_ name: String) -> String { parameters[name] ?? "" }
}

/// Why a request was not done. As JSON: `{"error":{"code":…,"message":…}}`.
struct ControlFault: Error, Sendable, Equatable, Codable {
    /// For programs: a word that does not change.
    let code: String
    /// For people: what is wrong, and what to do.
    let message: String
    let status: Int

    private enum CodingKeys: CodingKey {
        case code, message
    }

    init(_ status: Int, _ code: String, _ message: String) {
        self.status = status
        self.code = code
        self.message = message
    }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            0, try fields.decode(String.self, forKey: .code), try fields.decode(String.self, forKey: .message))
    }

    static func badRequest(_ message: String) -> ControlFault { ControlFault(400, "bad_request", message) }
    static func unknownApp(_ name: String) -> ControlFault {
        ControlFault(404, "unknown_app", "there is no app \"\(name)\" in the configuration in force")
    }
}

/// Status and JSON body, as server and client both see it.
struct ControlAnswer: Sendable, Equatable {
    let status: Int
    let body: [UInt8]
    /// For 405: what would have been allowed.
    var allow: String?

    struct Refusal: Codable {
        let error: ControlFault
    }

    init(status: Int, body: [UInt8]) {
        self.status = status
        self.body = body
    }

    static func json(_ value: some Encodable, status: Int = 200) -> ControlAnswer {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return ControlAnswer(status: status, body: Array(try encoder.encode(value)) + [0x0a])
        } catch {
            // A number that JSON does not have, for one.
            return .refused(ControlFault(500, "internal", "the answer could not be written: \(error)"))
        }
    }

    static func refused(_ fault: ControlFault) -> ControlAnswer {
        json(Refusal(error: fault), status: fault.status)
    }
}

/// One thing that can be asked for: a method, a path such as `/v1/gateways/{app}`, and what answers it.
struct ControlRoute: Sendable {
    typealias Handler = @Sendable (RoutedRequest) async throws -> any Encodable & Sendable
    /// The JSON itself, where it is there already.
    typealias WrittenHandler = @Sendable (RoutedRequest) async throws -> [UInt8]

    fileprivate enum Part: Sendable {
        case word(String)
        case parameter(String)
    }

    let method: HTTP1Method
    /// Which query parameters it takes.
    let query: [String]
    fileprivate let parts: [Part]
    fileprivate let answer: @Sendable (RoutedRequest) async throws -> ControlAnswer

    init(_ method: HTTP1Method, _ pattern: String, query: [String] = [], handler: @escaping Handler) {
        self.init(method, pattern, query) { .json(try await handler($0)) }
    }

    static func written(
        _ method: HTTP1Method, _ pattern: String, query: [String] = [], handler: @escaping WrittenHandler
    ) -> ControlRoute {
        ControlRoute(method, pattern, query) { ControlAnswer(status: 200, body: try await handler($0)) }
    }

    private init(
        _ method: HTTP1Method, _ pattern: String, _ query: [String],
        answer: @escaping @Sendable (RoutedRequest) async throws -> ControlAnswer
    ) {
        self.method = method
        self.query = query
        self.answer = answer
        parts = pattern.split(separator: "/").map { part in
            part.hasPrefix("{") && part.hasSuffix("}")
                ? .parameter(String(part.dropFirst().dropLast())) : .word(String(part))
        }
    }

    /// The parameters, if the path is of this pattern.
    fileprivate func match(_ path: [String]) -> [String: String]? {
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

/// All that can be asked for, and the answer to whatever is asked.
struct ControlRoutes: Sendable {
    private let routes: [ControlRoute]

    init(_ routes: [ControlRoute]) {
        self.routes = routes
    }

    func answer(_ request: HTTP1Request) async -> ControlAnswer {
        let matches = routes.compactMap { route in route.match(request.path).map { (route: route, parameters: $0) } }
        guard !matches.isEmpty else {
            return .refused(ControlFault(404, "not_found", "there is nothing at \(request.target)"))
        }
        guard let match = matches.first(where: { $0.route.method == request.method }) else {
            let allowed = matches.map(\.route.method.rawValue).joined(separator: ", ")
            var answer = ControlAnswer.refused(
                ControlFault(
                    405, "method_not_allowed", "\(request.method.rawValue) does nothing here; \(allowed) is allowed"))
            answer.allow = allowed
            return answer
        }
        do {
            let query = try ControlQuery(request.query, allowed: match.route.query)
            return try await match.route.answer(
                RoutedRequest(parameters: match.parameters, query: query, body: request.body))
        } catch let fault as ControlFault {
            return .refused(fault)
        } catch {
            return .refused(ControlFault(500, "internal", "\(error)"))
        }
    }
}
