package import PushModel

/// What the body of the provider's answer says (PROTOCOLS A6): `{"reason": "…", "timestamp": ms}`.
///
/// Tolerant: members it does not know are passed over, and a body that cannot be read says nothing. For refusals and
/// GOAWAY only; an acceptance has no body.
package struct ProviderAnswer: Sendable, Equatable {
    /// Nil unless it is a word of printable ASCII: it goes into events and logs.
    package let reason: ProviderReason?
    /// Milliseconds since 1970.
    package let timestamp: Int64?

    /// More than any answer needs; what is longer is not read.
    package static let maximumBodyLength = 4096
    package static let maximumReasonLength = 64

    package init(body: some Collection<UInt8>) {
        guard !body.isEmpty, body.count <= Self.maximumBodyLength, let document = try? JSONDocument(Array(body)) else {
            reason = nil
            timestamp = nil
            return
        }
        reason = document.value("reason", in: document.root).flatMap { document.string($0) }
            .flatMap { Self.word($0) }.map { ProviderReason(rawValue: $0) }
        timestamp = document.value("timestamp", in: document.root).flatMap { document.integer($0) }
            .flatMap { $0 >= 0 ? $0 : nil }
    }

    /// The reason in an answer's body or in the debug data of a GOAWAY (PROTOCOLS A8).
    package static func reason(in body: some Collection<UInt8>) -> ProviderReason? {
        ProviderAnswer(body: body).reason
    }

    /// Whole seconds, as `retry-after` gives them; its other form, a date, gives nil. At most a day: what is longer
    /// would hand the sender's schedule to the peer.
    package static func retryAfter(_ field: String) -> Int? {
        guard !field.isEmpty else { return nil }
        var seconds = 0
        for byte in field.utf8 {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            seconds = min(maximumRetryAfter, seconds * 10 + Int(byte - UInt8(ascii: "0")))
        }
        return seconds
    }

    package static let maximumRetryAfter = 86_400

    /// `apns-unique-id`, by which the sandbox's delivery log knows an accepted notification.
    package static func uniqueID(_ field: String) -> String? { word(field) }

    private static func word(_ text: String) -> String? {
        guard (1...maximumReasonLength).contains(text.utf8.count), text.utf8.allSatisfy({ (0x20..<0x7f).contains($0) })
        else { return nil }
        return text
    }
}

extension Refusal {
    /// From an answer as it came: its status, its body, and its field `retry-after` if it had one.
    package init(status: Int, body: some Collection<UInt8>, retryAfter: String? = nil) {
        let answer = ProviderAnswer(body: body)
        self.init(
            status: status, reason: answer.reason, timestamp: answer.timestamp,
            retryAfter: retryAfter.flatMap { ProviderAnswer.retryAfter($0) })
    }
}
