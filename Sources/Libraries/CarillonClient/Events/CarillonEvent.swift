import PushWire

/// Something that happened to a message, a delivery, a device, a connection or a credential.
///
/// ``kind`` says what it is; the members that it has are properties, and nil where a kind has none. Members that this
/// library does not know are in ``subscript(_:)``.
public struct CarillonEvent: Sendable, CustomStringConvertible {
    private let document: JSONDocument

    /// The number of the event: it ascends, never repeats, and survives restarts of Carillon.
    /// In a cluster this holds within its ``part``.
    public let number: Int64
    /// The part of the log that the event is in; 0 on a single node. Part and number together name an event.
    public let part: Int
    /// The topic, such as `delivery/shop/sent`.
    public let topic: String
    /// The name of the app; `-` if none is known.
    public let app: String
    /// What happened.
    public let kind: Kind

    /// Returns nil if the line is not a JSON object.
    init?(_ line: [UInt8], number: Int64, part: Int = 0, topic: String) {
        guard let document = try? JSONDocument(line), document.kind(document.root) == .object else { return nil }
        self.document = document
        self.number = number
        self.part = part
        self.topic = topic
        let parts = topic.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        app = parts.count == 3 ? String(parts[1]) : "-"
        kind = Kind(rawValue: parts.count == 3 ? "\(parts[0])/\(parts[2])" : topic)
    }

    /// The time of the event, in milliseconds since 1970.
    public var milliseconds: Int64 { integer("ts") ?? 0 }
    /// The id of the message.
    public var messageID: String? { string("message_id") }
    /// The id of the device, which is never its token.
    public var device: String? { string("device") }
    /// What the address of the device is for, such as `voip`, if its registration stated that.
    public var addressKind: String? { string("address_kind") }
    /// The `apns-id` of all attempts of the delivery.
    public var apnsID: String? { string("apns_id") }
    /// The number of the attempt, from 1.
    public var attempt: Int64? { integer("attempt") }
    /// The HTTP status of the push service.
    public var status: Int64? { integer("status") }
    /// The reason, in a word.
    public var reason: String? { string("reason") }
    /// One English sentence for people.
    public var detail: String? { string("detail") ?? string("message") }
    /// The time from the acceptance of the message to the answer.
    public var latency: Duration? { integer("latency_ms").map { .milliseconds($0) } }
    /// The W3C trace context of the message.
    public var traceparent: String? { string("traceparent") }
    /// The numbers of deliveries of a completed message, by outcome.
    public var counts: [String: Int64]? {
        guard let list = value("counts"), document.kind(list) == .object else { return nil }
        var counts: [String: Int64] = [:]
        for member in document.members(list) {
            if let name = document.string(member.key), let count = document.integer(member.value) {
                counts[name] = count
            }
        }
        return counts
    }

    /// Returns a member by its name, as it is in Protocol.md; nil if the event does not have it.
    public subscript(_ name: String) -> JSONContent? {
        for member in document.members(document.root) where document.isString(member.key, equalTo: name) {
            return JSONContent(document.value(at: member.value))
        }
        return nil
    }

    /// The bytes of the event, one JSON object.
    public var json: [UInt8] { document.bytes }

    /// The event as JSON text.
    public var description: String { String(decoding: document.bytes, as: UTF8.self) }

    private func value(_ name: StaticString) -> JSONDocument.Position? { document.value(name, in: document.root) }
    private func string(_ name: StaticString) -> String? { value(name).flatMap { document.string($0) } }
    private func integer(_ name: StaticString) -> Int64? { value(name).flatMap { document.integer($0) } }
}

extension CarillonEvent {
    /// What happened: the family and the kind of an event, as in `delivery/sent`. A newer Carillon may have others than
    /// those that are named here.
    public struct Kind: RawRepresentable, Sendable, Hashable {
        /// The family and the kind.
        public let rawValue: String

        /// Creates a kind by its family and its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A request was accepted.
        public static let messageAccepted = Kind(rawValue: "message/accepted")
        /// A request was rejected.
        public static let messageRejected = Kind(rawValue: "message/rejected")
        /// A request was accepted before.
        public static let messageDuplicate = Kind(rawValue: "message/duplicate")
        /// A message expired before any device was looked up.
        public static let messageExpired = Kind(rawValue: "message/expired")
        /// A message was cancelled.
        public static let messageCancelled = Kind(rawValue: "message/cancelled")
        /// All deliveries of a message have ended.
        public static let messageCompleted = Kind(rawValue: "message/completed")
        /// The push service accepted a notification.
        public static let deliverySent = Kind(rawValue: "delivery/sent")
        /// The device has displayed a notification.
        public static let deliveryDisplayed = Kind(rawValue: "delivery/displayed")
        /// The user has opened a notification.
        public static let deliveryOpened = Kind(rawValue: "delivery/opened")
        /// The push service refused a notification for good.
        public static let deliveryRejected = Kind(rawValue: "delivery/rejected")
        /// The push service refused a notification for now.
        public static let deliveryRetry = Kind(rawValue: "delivery/retry")
        /// A notification was written and never answered.
        public static let deliveryUnknown = Kind(rawValue: "delivery/unknown")
        /// It was too late for another attempt.
        public static let deliveryExpired = Kind(rawValue: "delivery/expired")
        /// A notification does not have to be sent.
        public static let deliverySuppressed = Kind(rawValue: "delivery/suppressed")
        /// A newer notification for the same Live Activity took the place of this one.
        public static let deliverySuperseded = Kind(rawValue: "delivery/superseded")
        /// A device was registered for the first time.
        public static let deviceRegistered = Kind(rawValue: "device/registered")
        /// Nothing is sent to a device until it registers again.
        public static let deviceDeactivated = Kind(rawValue: "device/deactivated")
        /// A deactivated device registered again.
        public static let deviceReactivated = Kind(rawValue: "device/reactivated")
        /// The brake for bad tokens is on or off.
        public static let deviceBrake = Kind(rawValue: "device/brake")
        /// A connection to a push service is there.
        public static let connectionUp = Kind(rawValue: "connection/up")
        /// A connection to a push service has ended.
        public static let connectionDown = Kind(rawValue: "connection/down")
        /// The push service announced the end of a connection.
        public static let connectionGoaway = Kind(rawValue: "connection/goaway")
        /// The number of connections changed.
        public static let connectionScaled = Kind(rawValue: "connection/scaled")
        /// A certificate expires soon.
        public static let credentialExpiring = Kind(rawValue: "credential/expiring")
        /// A new credential is in force.
        public static let credentialRotated = Kind(rawValue: "credential/rotated")
        /// A credential cannot be used.
        public static let credentialFailed = Kind(rawValue: "credential/failed")
        /// The log was restored from a backup, and events after the backup are lost.
        public static let ledgerRestored = Kind(rawValue: "ledger/restored")
        /// The receiver of a webhook wants no more events, or nobody knows what it has had.
        public static let webhookDisabled = Kind(rawValue: "webhook/disabled")
        /// An operator has paused a webhook.
        public static let webhookPaused = Kind(rawValue: "webhook/paused")
        /// An operator has resumed a webhook.
        public static let webhookResumed = Kind(rawValue: "webhook/resumed")
        /// The log has no longer what a webhook should deliver next.
        public static let webhookSkipped = Kind(rawValue: "webhook/skipped")
    }
}

extension JSONContent {
    init(_ value: JSONValue) {
        switch value {
        case .null: self = .null
        case .bool(let flag): self = .bool(flag)
        case .integer(let number): self = .integer(number)
        case .number(let number): self = .number(number)
        case .string(let text): self = .string(text)
        case .array(let elements): self = .array(elements.map { JSONContent($0) })
        case .object(let members): self = .object(members.mapValues { JSONContent($0) })
        }
    }
}
