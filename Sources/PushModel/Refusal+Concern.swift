extension Refusal {
    /// What the refusal concerns; nil if neither status nor reason determines it.
    package var concern: RefusalConcern? {
        if let known = reason?.known { return known.concern }
        return switch status {
        case 403: .credential
        case 410: .device
        case 413: .notification
        case 500...: .provider
        default: nil
        }
    }

    /// Whether the push service itself failed, so that any other push would have ended the same way. Only such refusals
    /// may pause an app: a refusal that concerns a device, a topic or a notification shows that the service works.
    package var isTroubleOfProvider: Bool {
        switch concern {
        case .provider: true
        case .connection: status >= 500
        case .notification, .device, .channel, .topic, .credential: false
        // The answer comes from an intermediary, such as a proxy, that lets no push through.
        case nil: status < 200 || (300..<400).contains(status)
        }
    }

    /// What happened and what to do about it, as text for people.
    package var explanation: (meaning: String, advice: String) {
        if let known = reason?.known { return (known.meaning, known.advice) }
        let word = reason.map { "the unknown reason \($0)" } ?? "no reason"
        let advice =
            switch disposition {
            case .renewTokenOnce, .halt: "check the app's credential and its rights in the developer account"
            case .deactivate: "stop sending to this token"
            case .retry: "nothing to do: the delivery is retried later"
            default: "look the reason up in the provider's documentation"
            }
        return ("the provider answered \(status) and \(word)", advice)
    }
}
