/// An event to be numbered, stored and published. Events of deliveries are passed as ``DeliveryRecord`` values instead,
/// a thousand at a time.
package struct EventDraft: Sendable {
    package let kind: EventKind
    package let app: AppID?
    package var messageID: MessageID?
    package var device: DeviceID?
    package var apnsID: APNSID?
    /// A word of a closed or open set, such as the provider's reason.
    package var reason: String?
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
    /// - Parameters:
    ///   - evidence: The time at which the device is known to have been gone, in milliseconds since 1970.
    ///   - erases: Whether the registry erases its data of the device.
    package static func deactivated(
        _ device: DeviceID, app: AppID, reason: String?, evidence: Int64, erases: Bool = false
    ) -> EventDraft {
        var event = EventDraft(.deviceDeactivated, app: app)
        event.device = device
        event.reason = reason
        event.add("time", number: evidence)
        if erases { event.details.append(Detail("erased", value: .flag(true))) }
        return event
    }
}

/// A name that is written in the source code, so that no input from outside becomes a key.
package struct StaticName: ExpressibleByStringLiteral, Hashable, Sendable {
    package let text: String

    package init(stringLiteral text: StaticString) {
        self.text = "\(text)"
    }
}
