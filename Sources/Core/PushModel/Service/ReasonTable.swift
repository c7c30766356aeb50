/// What the refusals of one push service mean: its known reasons, and its statuses for reasons that are not known.
package struct ReasonTable: Sendable {
    package typealias Change = @Sendable (_ status: Int, ProviderReason?, _ usual: Disposition) -> Disposition
    package typealias StatusMeaning = @Sendable (_ status: Int) -> (Disposition, RefusalConcern?)

    package let all: [KnownReason]
    /// What to do about a refused credential if the reason is not in the table.
    package let credentialAdvice: String
    /// Whether the service may have delivered a notification that it answered with a status of 500 or more.
    private let isUncertain: Bool
    /// Whether a device may replace its address and stay the same device.
    private let replacesAddresses: Bool
    private let byName: [String: Int]
    private let meaning: StatusMeaning
    private var change: Change?

    /// - Parameters:
    ///   - credentialAdvice: What to do about a refused credential if the reason is not in the table.
    ///   - isUncertain: Whether the service may have delivered a notification that it answered with a status of 500 or
    ///     more, and has no id by which it knows a repetition.
    ///   - replacesAddresses: Whether a device may replace its address and stay the same device.
    ///   - meaning: What a status means if the reason is not in the table.
    package init(
        _ all: [KnownReason], credentialAdvice: String = "check the app's credential", isUncertain: Bool = false,
        replacesAddresses: Bool = false, meaning: @escaping StatusMeaning = ReasonTable.ofStatus
    ) {
        self.all = all
        self.credentialAdvice = credentialAdvice
        self.isUncertain = isUncertain
        self.replacesAddresses = replacesAddresses
        self.meaning = meaning
        byName = Dictionary(
            all.indices.flatMap { index in all[index].names.map { ($0, index) } },
            uniquingKeysWith: { first, _ in first })
    }

    /// Returns the table with other actions for the same refusals.
    package func changing(_ change: @escaping Change) -> ReasonTable {
        var table = self
        table.change = change
        return table
    }

    package func known(_ name: String) -> KnownReason? { byName[name].map { all[$0] } }

    package func known(_ reason: ProviderReason?) -> KnownReason? { reason.flatMap { known($0.rawValue) } }

    /// The label for metrics: the main name of a known reason, or `other`. The set of labels is closed, whatever a peer
    /// answers.
    package func label(of reason: ProviderReason) -> String { known(reason)?.names[0] ?? ProviderReason.otherLabel }

    /// Returns the action for a refusal. A known reason decides; otherwise the status does. O(1).
    package func disposition(status: Int, reason: ProviderReason?) -> Disposition {
        let usual = known(reason)?.disposition ?? meaning(status).0
        return change?(status, reason, usual) ?? usual
    }

    /// Returns whether the notification may have been delivered in spite of the refusal, so that another attempt may be
    /// a duplicate.
    package func mayHaveArrived(_ refusal: Refusal) -> Bool { isUncertain && refusal.status >= 500 }

    package func disposition(of refusal: Refusal) -> Disposition {
        disposition(status: refusal.status, reason: refusal.reason)
    }

    /// What a refusal concerns; nil if neither status nor reason determines it.
    package func concern(of refusal: Refusal) -> RefusalConcern? {
        if let known = known(refusal.reason) { return known.concern }
        return meaning(refusal.status).1
    }

    /// What to do about a credential that was refused with this reason.
    package func credentialAdvice(for reason: ProviderReason?) -> String { known(reason)?.advice ?? credentialAdvice }

    /// Whether a refusal is one of the credential or of its rights, so that another credential would help.
    package func refusesCredential(_ refusal: Refusal) -> Bool {
        concern(of: refusal) == .credential || known(refusal.reason)?.isForbidden == true
    }

    /// The reason that the push service gives for the addresses of another app or environment; nil if it has none.
    package var misdirected: ProviderReason? { all.first(where: \.isMisdirected)?.reason }

    /// How a refusal ends its device; nil if the device stays.
    package func end(of refusal: Refusal) -> DeviceEnd? {
        guard disposition(of: refusal) == .deactivate else { return nil }
        if known(refusal.reason)?.isMisdirected == true { return .misdirected }
        return replacesAddresses ? .replaceable : .gone
    }

    /// Whether the push service itself failed, so that any other push would have ended the same way. Only such refusals
    /// may pause an app: a refusal that concerns a device, a topic or a notification shows that the service works.
    package func isTroubleOfProvider(_ refusal: Refusal) -> Bool {
        switch concern(of: refusal) {
        case .provider: true
        case .connection: refusal.status >= 500
        case .notification, .device, .channel, .topic, .credential: false
        // The answer comes from an intermediary, such as a proxy, that lets no push through.
        case nil: refusal.status < 200 || (300..<400).contains(refusal.status)
        }
    }

    /// What happened and what to do about it, as text for people.
    package func explanation(of refusal: Refusal) -> (meaning: String, advice: String) {
        if let known = known(refusal.reason) { return (known.meaning, known.advice) }
        let word = refusal.reason.map { "the unknown reason \($0)" } ?? "no reason"
        let advice =
            switch disposition(of: refusal) {
            case .renewTokenOnce, .halt: credentialAdvice
            case .deactivate: "stop sending to this token"
            case .retry: "nothing to do: the delivery is retried later"
            default: "look the reason up in the provider's documentation"
            }
        return ("the provider answered \(refusal.status) and \(word)", advice)
    }

    /// What a status means by HTTP alone.
    package static let ofStatus: StatusMeaning = { status in
        switch status {
        case 429: (.retry, nil)
        case 500...: (.retry, .provider)
        case 400..<500: (.drop, nil)
        // The service accepted it with an unknown status; to send it again might cause a duplicate.
        case 200..<300: (.drop, nil)
        // The answer comes from an intermediary, not from the service, and does not concern the notification.
        default: (.retry, nil)
        }
    }
}

/// Why a device ends after a refusal.
package enum DeviceEnd: Sendable, Equatable {
    /// The address is no longer in use, and its device has no other one.
    case gone
    /// The address is no longer in use. The device may have replaced it by another one.
    case replaceable
    /// The address is not one of this app. If the app is set up for another environment or topic, the service says so of
    /// every address.
    case misdirected
}
