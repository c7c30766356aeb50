package import PushModel
import PushText
package import PushTime

/// The reason why a request was rejected or failed, as the body of an answer (RFC 9457).
package struct Problem: Error, Sendable, Equatable, Codable {
    package let type: String
    package let title: String
    package let status: Int
    package let code: ProblemCode
    /// A sentence for people: what is wrong, and what to do.
    package let detail: String
    /// The faults of the input; left out unless the code is `invalid`.
    package var errors: [InputFault]?
    /// The time of the server; left out unless the code is `clock_skew`.
    package var serverTime: WallTime?
    /// The time after which the client may try again; also in the header `Retry-After`.
    package var retryAfterMilliseconds: Int64?
    /// The reason for metrics and logs, if the request was not allowed. It is not part of the answer.
    package var reason: AccessReason?
    /// What the request has changed although it failed. It is recorded, and no part of the answer.
    package var changes: [OperatorChange] = []
    /// The methods of the path, for the header `Allow`.
    package var allow: String?

    package enum CodingKeys: String, CodingKey {
        case type, title, status, code, detail, errors
        case serverTime = "server_time_at"
        case retryAfterMilliseconds = "retry_after_ms"
    }

    package init(_ code: ProblemCode, detail: String, errors: [InputFault]? = nil) {
        type = "about:blank"
        title = code.title
        status = code.status
        self.code = code
        self.detail = detail
        self.errors = errors
        reason = code.reason
        if code == .tooManyRequests || code == .unavailable { retryAfterMilliseconds = 1000 }
    }

    /// - Parameter known: the apps that the caller may know.
    package static func unknownApp(_ name: String, among known: [String] = []) -> Problem {
        let nearest = NearestWord.to(name, in: known).map { "; did you mean \"\($0)\"?" } ?? ""
        return Problem(.unknownApp, detail: "there is no app \"\(name)\" in the configuration in force\(nearest)")
    }

    package static func unknownNode(_ name: String) -> Problem {
        Problem(
            .unknownNode,
            detail: "there is no node \"\(name)\" that runs in the cluster of this Carillon; see carillon cluster")
    }

    /// Returns the problem of an input with one fault.
    package static func invalid(_ fault: InputFault) -> Problem {
        invalid([fault])
    }

    /// Returns the problem of an input with faults, of which there must be at least one.
    package static func invalid(_ faults: [InputFault]) -> Problem {
        let first = faults.first?.sentence ?? "the request is invalid"
        let more = faults.count > 1 ? ", and \(faults.count - 1) more: see errors" : ""
        return Problem(.invalid, detail: first + more, errors: faults)
    }
}
