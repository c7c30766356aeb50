package import PushModel
package import PushTime
import PushWire

/// The body of a provider's response, `{"reason": "…", "timestamp": ms}` (Documentation/Protocols.md, "A6. The
/// answer").
///
/// The parser is tolerant: it ignores unknown members, and a malformed body gives neither value. It is for refusals and
/// GOAWAY only; an acceptance has no body.
package struct ProviderAnswer: Sendable, Equatable {
    /// The reason; nil unless it is printable ASCII, since it is written to events and logs.
    package let reason: ProviderReason?
    package let timestamp: WallTime?

    /// The largest body that is read, which is more than any response needs.
    package static let maxBodyLength = 4096
    package static let maxReasonLength = 64

    package init(body: some Collection<UInt8>) {
        guard !body.isEmpty, body.count <= Self.maxBodyLength, let document = try? JSONDocument(Array(body)) else {
            reason = nil
            timestamp = nil
            return
        }
        reason = document.value("reason", in: document.root).flatMap { document.string($0) }
            .flatMap { Self.word($0) }.map { ProviderReason(rawValue: $0) }
        timestamp = document.value("timestamp", in: document.root).flatMap { document.integer($0) }
            .flatMap { $0 >= 0 ? WallTime(milliseconds: $0) : nil }
    }

    /// Returns the reason in a response body or in the debug data of a GOAWAY (Documentation/Protocols.md, "A8. GOAWAY
    /// and lost connections").
    package static func reason(in body: some Collection<UInt8>) -> ProviderReason? {
        ProviderAnswer(body: body).reason
    }

    /// Returns the whole seconds of a `retry-after` field; nil for its other form, a date. A longer time than a day is
    /// cut to a day, so that the peer does not control the sender's schedule.
    package static func retryAfter(_ field: String) -> Int? {
        guard !field.isEmpty else { return nil }
        var seconds = 0
        for byte in field.utf8 {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            seconds = min(maxRetryAfter, seconds * 10 + Int(byte - UInt8(ascii: "0")))
        }
        return seconds
    }

    package static let maxRetryAfter = 86_400

    /// Returns `apns-unique-id`, the name of an accepted notification in the sandbox's delivery log.
    package static func providerID(_ field: String) -> ProviderID? {
        word(field).map { ProviderID($0, member: .apnsUniqueID) }
    }

    private static func word(_ text: String) -> String? {
        guard (1...maxReasonLength).contains(text.utf8.count), text.utf8.allSatisfy({ (0x20..<0x7f).contains($0) })
        else { return nil }
        return text
    }
}

extension Refusal {
    /// Creates a refusal from the status, the body and the `retry-after` field, if any, of a response.
    package init(status: Int, body: some Collection<UInt8>, retryAfter: String? = nil) {
        let answer = ProviderAnswer(body: body)
        self.init(
            status: status, reason: answer.reason, timestamp: answer.timestamp,
            retryAfter: retryAfter.flatMap { ProviderAnswer.retryAfter($0) })
    }
}
