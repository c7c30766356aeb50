package import PushTime

/// An event to be numbered, stored and published. Events of deliveries are passed as ``DeliveryRecord`` values instead,
/// a thousand at a time.
package struct EventDraft: Sendable {
    package let kind: EventKind
    package let app: AppID?
    package var messageID: MessageID?
    package var device: DeviceID?
    package var deliveryID: DeliveryID?
    /// A word of a closed or open set, such as the provider's reason.
    package var reason: String?
    /// When the device of a ``EventKind/deviceDeactivated`` event was known to be gone.
    package var evidence: WallTime?
    /// Whether a ``EventKind/deviceDeactivated`` event erases the device with all of its data.
    package var erases = false
    /// The members of the JSON object that are specific to this kind of event, in this order.
    package var details: [Detail] = []

    package struct Detail: Sendable, Equatable {
        package enum Value: Sendable, Equatable {
            case text(String)
            case number(Int64)
            case flag(Bool)
            /// An object of numbers, such as the outcome counts of a message.
            case numbers([String: Int64])
        }

        package let name: StaticName
        package let value: Value

        package init(_ name: StaticName, value: Value) {
            self.name = name
            self.value = value
        }
    }

    package init(_ kind: EventKind, app: AppID?) {
        self.kind = kind
        self.app = app
    }

    package mutating func add(_ name: StaticName, text: String?) {
        if let text { details.append(Detail(name, value: .text(text))) }
    }

    package mutating func add(_ name: StaticName, number: Int64?) {
        if let number { details.append(Detail(name, value: .number(number))) }
    }
}

extension EventDraft {
    package static func deactivated(_ deactivation: Deactivation) -> EventDraft {
        var event = EventDraft(.deviceDeactivated, app: deactivation.app)
        event.device = deactivation.device
        event.reason = deactivation.reason
        event.messageID = deactivation.messageID
        event.deliveryID = deactivation.deliveryID
        event.evidence = deactivation.evidence
        event.erases = deactivation.erases
        return event
    }
}

extension EventDraft {
    /// Returns the event of a brake that was set (`on`) or released (`off`).
    ///
    /// - Parameters:
    ///   - deactivated: The number of devices that were deactivated before the brake stopped it, if it is known.
    ///   - since: The time of the first of them.
    package static func brake(
        _ state: String, of app: AppID, candidates: Int64, answers: Int64, deactivated: Int? = nil,
        since: WallTime? = nil
    ) -> EventDraft {
        var event = EventDraft(.deviceBrake, app: app)
        event.add("state", text: state)
        event.add("candidates", number: candidates)
        event.add("answers", number: answers)
        if let deactivated { event.add("deactivated", number: Int64(deactivated)) }
        if let since { event.add("deactivated_since", number: since.milliseconds) }
        return event
    }
}

/// A name that is written in the source code, so that no input from outside becomes a key.
package struct StaticName: ExpressibleByStringLiteral, Hashable, Sendable {
    package let text: String

    package init(stringLiteral text: StaticString) {
        self.text = "\(text)"
    }

    /// Creates a name that another node of the cluster has sent.
    package init(received text: String) {
        self.text = text
    }
}
