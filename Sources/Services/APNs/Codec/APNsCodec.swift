package import PushModel
package import PushTime
package import PushWire

/// What APNs makes of the addresses and messages of one app.
package struct APNsCodec: ServiceCodec {
    private let app: AppID
    /// The bundle id.
    private let topic: String
    /// Whether the app has a provider token rather than a certificate; some push types require one.
    private let usesToken: Bool
    /// One bit for each push type whose topic the app can have, which may already end in the suffix of another type.
    private let allowedTypes: UInt16
    /// Whether the topic is the pass type id of passes in Wallet.
    private let isForPasses: Bool

    package init(app: AppID, topic: String, usesToken: Bool) {
        self.app = app
        self.topic = topic
        self.usesToken = usesToken
        isForPasses = topic.hasPrefix(PushOptions.passPrefix)
        allowedTypes = PushType.allCases.reduce(0) {
            $0 | (Topic.isValid($1.topic(of: topic), for: $1) ? 1 << UInt16($1.number) : 0)
        }
    }

    /// A codec for addresses alone, where no app is configured.
    package static let unconfigured = APNsCodec(app: AppID("unconfigured")!, topic: "unconfigured", usesToken: true)

    package static let types = MessageTypes(PushType.allCases.map(MessageType.init))

    package var types: MessageTypes { Self.types }

    // MARK: Addresses

    package func address(_ text: ByteView) throws(AddressFault) -> Address {
        if text.count <= 2 * Address.maxTokenLength, let token = unsafe Address(hexBytes: text.bytes) { return token }
        throw AddressFault(Self.problem(of: text))
    }

    package func address(givenAs text: String) throws(AddressFault) -> Address {
        if let token = Address(text: text) { return token }
        throw AddressFault("is no token of at most \(Address.maxTokenLength) bytes in hexadecimal digits or base64")
    }

    package func address(pastedAs text: String) throws(AddressFault) -> Address { try PastedToken.read(text) }

    package func text(of address: Address) -> String { address.hex }

    private static func problem(of text: ByteView) -> String {
        if text.isEmpty { return "is empty" }
        let limit = 2 * Address.maxTokenLength
        if text.count > limit { return "has \(text.count) digits; \(limit) are allowed" }
        let isHexadecimal = text.copied.allSatisfy { HexDigits.value(of: $0) != nil }
        return isHexadecimal ? "has an odd number of digits" : "is not hexadecimal"
    }

    // MARK: Options

    package func check(_ type: MessageType) throws(Rejection) {
        let type = PushType(type)
        if type.needsProviderToken, !usesToken {
            throw Rejection(
                .badField,
                detail: "push_type \(type.rawValue) needs a provider token; the app \(app) has a certificate")
        }
        guard allowedTypes & 1 << UInt16(type.number) != 0 else {
            throw Rejection(.badField, detail: "push_type \(type.rawValue) does not fit the topic \(topic) of the app")
        }
    }

    package func check(_ priority: PushPriority, for type: MessageType) throws(Rejection) {
        // The other types allow all priorities; the check would allocate an array to find that out.
        guard type.defaultPriority != .ten, !PushType(type).allowedPriorities.contains(priority) else { return }
        throw Rejection(
            .badField,
            detail: "priority \(priority.rawValue) is not valid for \(type.word); use \(type.defaultPriority.rawValue)")
    }

    // MARK: Payloads

    package var kinds: [AddressKind] { AddressKind.allCases }

    package func kind(of type: MessageType, values: IndexedObject?) -> AddressKind {
        let type = PushType(type)
        guard type == .liveactivity, let aps = Self.aps(of: values),
            let event = aps.json.member("event", of: aps.root), aps.json.string(event) == "start"
        else { return type.kind }
        return .pushToStart
    }

    private static func aps(of values: IndexedObject?) -> IndexedObject? {
        guard let values, let aps = values.json.member("aps", of: values.root), values.json.kind(aps) == .object else {
            return nil
        }
        return IndexedObject(values.json, at: aps)
    }

    package var activityType: MessageType? { MessageType(.liveactivity) }

    package func payload(
        fromActivity object: IndexedObject, at time: UnixSeconds, for options: MessageOptions
    ) throws(Rejection) -> (bytes: [UInt8], activity: ActivityPart) {
        try ActivityPayload(object).rendered(at: time, limit: payloadLimit(of: options.type), of: options.type)
    }

    package func activity(of type: MessageType, values: IndexedObject?) -> ActivityPart? {
        guard PushType(type) == .liveactivity, let aps = Self.aps(of: values),
            let event = aps.json.member("event", of: aps.root)
        else { return nil }
        switch aps.json.string(event) {
        case "start":
            let type = aps.json.member("attributes-type", of: aps.root).flatMap { aps.json.string($0) }
            return ActivityPart(.start, type: type, isStamped: false)
        case "update": return ActivityPart(.update, isStamped: false)
        case "end": return ActivityPart(.end, isStamped: false)
        default: return nil
        }
    }

    package func payloadLimit(of type: MessageType) -> Int { PushType(type).payloadLimit }

    package var plainRules: PlainRules { PlainPayload.rules }

    package func payload(
        from content: PlainContent, for options: MessageOptions
    ) throws(Rejection) -> [UInt8] {
        try PlainPayload.bytes(from: content, limit: payloadLimit(of: options.type), of: options.type)
    }

    package func findings(
        in payload: [UInt8], values: IndexedObject?, for options: MessageOptions
    ) throws(Rejection) -> [UInt8] {
        let type = PushType(options.type)
        var checked = PushOptions(
            .device(type), priority: Int(options.priority.rawValue), expiration: options.expiry.expiresAt,
            collapseID: options.collapseID?.text)
        if let values, isClean(payload, values: values, type: type), PayloadQuickCheck.isClean(checked) { return [] }
        if isForPasses { checked.topic = type.topic(of: topic) }
        return try Self.findings(in: payload, for: checked)
    }

    /// Fewer values than this cannot exceed the depth limit of a payload.
    private static let shallowCount = JSONDocument.maxDepth
    /// The largest number of findings in one ack, which has to stay small. A person who reads one of them will check
    /// the rest.
    static let maxFindings = 10

    private func isClean(_ bytes: [UInt8], values: IndexedObject, type: PushType) -> Bool {
        let (json, root) = (values.json, values.root)
        return bytes.count <= type.payloadLimit
            && PayloadQuickCheck(json, type: type, isForPass: isForPasses).isClean(root)
            && (json.next(root) - root <= Self.shallowCount || JSONDocument.isObject(bytes))
    }

    /// Returns all findings of a payload that did not pass the quick check.
    private static func findings(in payload: [UInt8], for options: PushOptions) throws(Rejection) -> [UInt8] {
        let findings = PayloadRules.findings(in: payload, for: options, limit: maxFindings)
        if let refusal = findings.first(where: { $0.severity == .refused }) {
            throw rejection(of: payload, for: refusal, options: options)
        }
        let breaches = findings.filter { $0.breaksRules(of: options.pushType) }
            .map { rejection(of: payload, for: $0, options: options) }
        if let first = breaches.first {
            throw Rejection(first.reason, detail: breaches.map(\.detail).joined(separator: "; "))
        }
        return PayloadFinding.ack(findings)
    }

    private static func rejection(
        of payload: [UInt8], for finding: PayloadFinding, options: PushOptions
    ) -> Rejection {
        switch finding.code {
        case .tooLarge:
            return Rejection(
                .payloadTooLarge,
                detail: "\(payload.count) bytes; \(options.pushType.rawValue) allows \(options.payloadLimit)")
        case .badPriority, .priorityOfAnotherType, .badCollapseID, .wrongTopic, .badExpiration, .expirationTooLate,
            .expirationPast, .expirationStored:
            return Rejection(.badField, detail: "\(finding.path): \(finding.problem); \(finding.advice)")
        default:
            let prefix = finding.path.isEmpty ? "" : "\(finding.path): "
            return Rejection(.badPayload, detail: "\(prefix)\(finding.problem); \(finding.advice)")
        }
    }
}
