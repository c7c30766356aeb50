/// What a producer handed in, checked: a message, and whom it is for.
package struct PushRequest: Sendable {
    package let message: Message
    package let audience: Audience
    /// With a known id and the same content: look again who the audience is.
    package let again: Bool
    /// What its payload has that the push service or the device will ignore: an array in JSON, for the ack. Empty where
    /// there is nothing to say, which is the rule.
    package let findings: [UInt8]
    /// The configured name of the client that handed it in; nil without CURVE.
    package var client: String?

    package init(_ message: Message, to audience: Audience, again: Bool = false, findings: [UInt8] = []) {
        self.message = message
        self.audience = audience
        self.again = again
        self.findings = findings
    }
}

/// Why a request is not taken: a closed set, the words of the ack.
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
}

package struct Rejection: Error, Sendable, Equatable {
    package let reason: RejectionReason
    /// For people: what is wrong. Never a token, never a payload.
    package let detail: String

    package init(_ reason: RejectionReason, _ detail: String) {
        self.reason = reason
        self.detail = detail
    }
}

/// What became of a request that was handed to the ledger. Nothing of it is said before the disk has it.
package enum Acceptance: Sendable, Equatable {
    case accepted(seq: UInt64)
    /// The same envelope was accepted before, under this number.
    case duplicate(seq: UInt64)
    /// The id is known, with another payload or other options.
    case conflict(seq: UInt64)
    /// It is new, and its `expires_at` is past.
    case expired
    /// Nothing was taken, and the same may be taken later: the ledger cannot write, or remembers as many ids as it may.
    /// What a person reads, such as that the disk is full.
    case failed(String)
}
