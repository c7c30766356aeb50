import PushConfiguration
import PushModel
import PushText

/// Descriptions of the reason codes in events.
enum ReasonDescription {
    static let wrongKind = "wrong_kind"
    static let meaningOfWrongKind = "the address is for messages of another type; nothing was sent"

    /// Describes a response of the push service: `410 Unregistered: the device no longer takes notifications of this app`.
    static func answer(status: Int64?, reason: String?) -> String {
        if status == nil, reason == wrongKind { return "\(wrongKind): \(meaningOfWrongKind)" }
        let word = PlainText.line(reason ?? "", limit: 80)
        let name = [status.map { "\($0)" } ?? "", word].filter { !$0.isEmpty }.joined(separator: " ")
        let refusal = Refusal(status: Int(clamping: status ?? 0), reason: reason.map { ProviderReason(rawValue: $0) })
        guard let reasons = PushServices.reasons(knowing: refusal.reason) else {
            return name.isEmpty ? "no reason given" : name
        }
        return "\(name): \(reasons.explanation(of: refusal).meaning)"
    }

    /// Returns what to do about a reason of the push service, or nil for an unknown reason.
    static func advice(reason: String?) -> String? {
        known(reason)?.advice
    }

    private static func known(_ reason: String?) -> KnownReason? {
        let reason = reason.map { ProviderReason(rawValue: $0) }
        return PushServices.reasons(knowing: reason)?.known(reason)
    }

    static func unknown(_ cause: String?) -> String {
        switch cause.flatMap({ UnknownCause(rawValue: $0) }) {
        case .timeout: "timed out waiting for the response"
        case .connectionLost: "connection lost before the response"
        case .reset: "the push service reset the request"
        case .serverError: "the push service answered with an error of its own"
        case nil: cause.map { PlainText.line($0, limit: 80) } ?? "no cause recorded"
        }
    }

    static func suppression(_ reason: String?) -> String {
        switch reason.flatMap({ DeliveryOutcome.Suppression(rawValue: $0) }) {
        case .inactive: "the device is inactive"
        case .duplicate: "duplicate: this message was already processed for the device"
        case .unknownDevice: "unknown device: the registry has no device with this id"
        case .erased: "the user of the device was erased"
        case .reassigned: "the device has another user since it was found"
        case nil: reason.map { PlainText.line($0, limit: 80) } ?? "no reason recorded"
        }
    }

    static func expiry(_ reason: String?) -> String {
        switch reason.flatMap({ DeliveryOutcome.ExpiryReason(rawValue: $0) }) {
        case .late: "expired: the local time had passed when the message was accepted"
        case .noAddress: "expired: no address of the Live Activity was registered in time, or it has ended"
        case .ended: "expired: a message that ends the Live Activity was accepted before"
        case nil: "expired"
        }
    }

    static func rejection(_ reason: String?) -> String {
        switch reason.flatMap({ RejectionReason(rawValue: $0) }) {
        case .badFrame: "the frames are invalid"
        case .badJSON: "invalid JSON"
        case .missingField: "a required field is missing"
        case .badField: "a field is invalid"
        case .unknownApp: "the configuration has no such app"
        case .badAudience: "the audience is invalid"
        case .badToken: "a device token is invalid"
        case .payloadTooLarge: "the payload is larger than its push type allows"
        case .badPayload: "the payload is invalid for its push type"
        case .idConflict: "its id was used before for a message with different content"
        case .expired: "it had expired when it arrived"
        case .forbidden: "the client has no permission to push to this app"
        case .unknownMessage: "no message with this id is remembered"
        case .tooMany: "it exceeds the maximum number of items"
        case nil: reason.map { PlainText.line($0, limit: 80) } ?? "no reason recorded"
        }
    }

    /// Returns why a device was deactivated, as text after "because". The reason is that of a response of the push
    /// service, that of its feedback service, or text that an operator gave.
    static func deactivation(_ reason: String?) -> String {
        guard let reason else { return "of an unknown reason" }
        let word = PlainText.line(reason, limit: 200)
        if let known = known(reason) {
            return "the push service answered \(word): \(known.meaning)"
        }
        switch reason {
        case "feedback": return "the feedback service reported that the app was uninstalled (feedback)"
        case "by_hand": return "an operator deactivated it (by_hand)"
        case "removed": return "an operator removed it and its data (removed)"
        case "erased": return "its user was erased (erased)"
        case "replaced": return "another token replaced its token (replaced)"
        case Deactivation.activityEnded: return "its Live Activity has ended (activity_ended)"
        default: return "of: \(word)"
        }
    }
}
