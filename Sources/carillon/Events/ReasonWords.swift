import PushModel

/// The words of events, in words for people.
enum ReasonWords {
    /// `410 Unregistered: the device no longer takes notifications of this app`.
    static func answer(status: Int64?, reason: String?) -> String {
        let word = PlainText.line(reason ?? "", limit: 80)
        let name = [status.map { "\($0)" } ?? "", word].filter { !$0.isEmpty }.joined(separator: " ")
        let refusal = Refusal(status: Int(clamping: status ?? 0), reason: reason.map { ProviderReason(rawValue: $0) })
        guard refusal.reason?.known != nil else { return name.isEmpty ? "without saying why" : name }
        return "\(name): \(refusal.explanation.meaning)"
    }

    /// What can be done about an answer; nil for what is not known.
    static func advice(reason: String?) -> String? {
        reason.flatMap { ProviderReason(rawValue: $0).known?.advice }
    }

    static func unknown(_ cause: String?) -> String {
        switch cause.flatMap({ UnknownCause(rawValue: $0) }) {
        case .timeout: "no answer came in time"
        case .connectionLost: "the connection was lost before the answer"
        case .reset: "the push service broke the request off"
        case nil: cause.map { PlainText.line($0, limit: 80) } ?? "nobody knows why"
        }
    }

    static func suppression(_ reason: String?) -> String {
        switch reason.flatMap({ DeliveryRecord.Suppression(rawValue: $0) }) {
        case .inactive: "the device is inactive: it is known to be gone"
        case .duplicate: "the device had this message id already"
        case .unknownDevice: "no device of that id is known"
        case nil: reason.map { PlainText.line($0, limit: 80) } ?? "nobody knows why"
        }
    }

    static func rejection(_ reason: String?) -> String {
        switch reason.flatMap({ RejectionReason(rawValue: $0) }) {
        case .badFrame: "the frames are not those of a push"
        case .badJSON: "it is no JSON"
        case .missingField: "something that is needed is missing"
        case .badField: "a field is not as it may be"
        case .unknownApp: "there is no such app"
        case .badAudience: "whom it is for cannot be understood"
        case .badToken: "a token is no token"
        case .payloadTooLarge: "the payload is larger than its push type allows"
        case .badPayload: "the payload is not what its push type wants"
        case .idConflict: "its id was used for a message with another content"
        case .expired: "its time was over when it came"
        case .forbidden: "its sender may not push to this app"
        case .tooMany: "there are too many in one"
        case nil: reason.map { PlainText.line($0, limit: 80) } ?? "nobody knows why"
        }
    }

    /// Why a device was deactivated, after "because": an answer of the push service, its feedback, or a person's words.
    static func deactivation(_ reason: String?) -> String {
        guard let reason else { return "of something that nobody said" }
        let word = PlainText.line(reason, limit: 200)
        if let known = ProviderReason(rawValue: reason).known {
            return "the push service answered \(word): \(known.meaning)"
        }
        switch reason {
        case "feedback": return "the push service reported that the app is gone from it (feedback)"
        case "by_hand": return "an operator said so (by_hand)"
        case "removed": return "an operator removed it, with all that was known of it (removed)"
        case "replaced": return "the device has another token now (replaced)"
        default: return "of: \(word)"
        }
    }
}
