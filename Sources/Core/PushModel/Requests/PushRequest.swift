/// A checked request of a producer: a message and its audience.
package struct PushRequest: Sendable {
    package let message: Message
    package let audience: Audience
    /// Whether to accept a known id with the same content once more, for devices that joined its dynamic audience since.
    package let again: Bool
    /// The members of the payload that the push service or the device will ignore, as a JSON array for the ack. Empty
    /// in the usual case that there are none.
    package let findings: [UInt8]
    /// The configured name of the client that sent the request; nil without CURVE.
    package var client: String?
    /// The requests that are accepted together with this one: those to the other members of a family, and those for the
    /// other turns of a local time; nil for nearly all requests.
    package var fellows: FellowRequests?
    /// Whether the request before this one is accepted together with it: all of them are stored, or none.
    package var isJoined = false

    package init(_ message: Message, to audience: Audience, again: Bool = false, findings: [UInt8] = []) {
        self.message = message
        self.audience = audience
        self.again = again
        self.findings = findings
    }

    /// The number of requests that belong to the envelope, with this one.
    package var count: Int { 1 + (fellows?.others.count ?? 0) }

    /// The approximate number of bytes in memory.
    package var size: Int { message.size + audience.size + (fellows?.size ?? 0) }
}

/// The requests that belong to one envelope, after the first one. The ledger gets them behind that one, as requests of
/// their own.
package final class FellowRequests: Sendable {
    /// Nil for a single app.
    package let family: Family?
    /// The number of requests to each member, or to the single app.
    package let turnCount: Int
    /// The requests, in the order of the members.
    package let others: [PushRequest]

    package init(_ family: Family?, others: [PushRequest], turnCount: Int = 1) {
        self.family = family
        self.turnCount = turnCount
        self.others = others.map { request in
            var request = request
            request.isJoined = true
            return request
        }
    }

    fileprivate var size: Int { others.reduce(0) { $0 + $1.size } }
}

/// Why a request is rejected: a closed set, which the ack uses.
package enum RejectionReason: String, CaseIterable, Sendable {
    case badFrame = "bad_frame"
    case badJSON = "bad_json"
    case missingField = "missing_field"
    case badField = "bad_field"
    case unknownApp = "unknown_app"
    case badAudience = "bad_audience"
    case badToken = "bad_token"
    case payloadTooLarge = "payload_too_large"
    case badPayload = "bad_payload"
    case idConflict = "id_conflict"
    case expired
    case forbidden
    case tooMany = "too_many"
    /// Only of `cancel/1`: no message with this id is remembered.
    case unknownMessage = "unknown_message"
}

package struct Rejection: Error, Sendable, Equatable {
    package let reason: RejectionReason
    /// What is wrong, as text for people. It never contains a token or a payload.
    package let detail: String

    package init(_ reason: RejectionReason, detail: String) {
        self.reason = reason
        self.detail = detail
    }
}

/// The result of a request that was passed to the ledger. It is reported only after it is on disk.
package enum Acceptance: Sendable, Equatable {
    case accepted(seq: UInt64)
    /// The same envelope was accepted before, under this number.
    case duplicate(seq: UInt64)
    /// The id is known with another payload or other options.
    case conflict(seq: UInt64)
    /// The id is new and `expires_at` has passed.
    case expired
    /// Nothing was stored, because the ledger cannot write or already remembers the maximum number of ids; the same
    /// request may be accepted later. The text for people names the cause, such as a full disk.
    case failed(String)
    /// Nothing was stored, because too many Live Activities of the app have messages and no address yet.
    case crowded
    /// Nothing was stored, because a request that belongs to the same envelope could not be.
    case withheld
}
