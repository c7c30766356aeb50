import FoundationEssentials
import PushModel
package import PushTransport

/// An answer as bytes, for both the server and the client.
package struct APIAnswer: Sendable, Equatable {
    package let status: Int
    package let body: [UInt8]
    /// The media type of the body.
    package let type: String
    package var headers: HTTP1Headers
    /// The reason, if the request was not allowed. It is for metrics.
    private(set) var reason: AccessReason?
    /// What the request has changed. It is recorded, and no part of the answer.
    package internal(set) var changes: [OperatorChange] = []

    package init(
        status: Int, body: [UInt8], type: String = "application/json; charset=utf-8", headers: HTTP1Headers = [:]
    ) {
        self.status = status
        self.body = body
        self.type = type
        self.headers = headers
    }

    package static func json(_ value: some Encodable, status: Int = 200) -> APIAnswer {
        do {
            return APIAnswer(status: status, body: try Self.bytes(of: value))
        } catch {
            // JSON cannot represent some numbers, such as infinity.
            return APIAnswer(Problem(.internal, detail: "cannot encode the answer: \(error)"))
        }
    }

    static func bytes(of value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(value)) + [0x0a]
    }

    package init(_ problem: Problem) {
        var headers: HTTP1Headers = [:]
        if let allow = problem.allow { headers.add("Allow", value: allow) }
        if let wait = problem.retryAfterMilliseconds {
            headers.add("Retry-After", value: "\(max(1, (wait + 999) / 1000))")
        }
        if problem.status == 401 { headers.add("WWW-Authenticate", value: "Signature realm=\"carillon\", Bearer") }
        let body = (try? problem.bytes()) ?? Array("{}\n".utf8)
        self.init(status: problem.status, body: body, type: Problem.mediaType, headers: headers)
        reason = problem.reason
        changes = problem.changes
    }
}

extension Problem: JSONAnswer {
    package static var mediaType: String { "application/problem+json" }

    package static var about: [String: String] {
        [
            "type": "Always about:blank: the code says which problem it is.",
            "title": "The same words for every problem with this code.",
            "status": "The status of the answer.",
            "code": "The reason, for programs.",
            "detail": "What is wrong, and what to do.",
            "errors": "The faults of the input, if the code is invalid.",
            "server_time_at": "The time of the server, if the code is clock_skew.",
            "retry_after_ms": "The time after which the client may try again.",
        ]
    }
}

extension ProblemCode: SchemaChoice {}
extension InputFault.Code: SchemaChoice {}
