/// A request to `/3/device/TOKEN` with its headers parsed, before authorization.
struct DeviceRequest {
    enum Target {
        case token, missing, malformed
    }

    var target = Target.missing
    var token = TokenBytes()
    /// The id that the client sent, if it is valid.
    var id: MessageID?
    var pushType = PushType.unspecified
    /// The priority; 0 if the header is missing, which Apple treats as 10.
    var priority: UInt8 = 0
    /// The expiration in seconds since 1970; -1 if the header is missing.
    var expiration: Int64 = -1

    /// The errors in the headers. `firstFault` is answered before the authorization is checked, `secondFault` after it.
    var firstFault = Reason.none
    var secondFault = Reason.none

    static let path: StaticString = "/3/device/"

    /// - Parameter digits: The part of the path after `/3/device/`.
    @inline(__always)
    init(_ fields: RequestFields, token digits: ByteView) {
        if !digits.isEmpty {
            if let decoded = TokenBytes(hex: digits) {
                token = decoded
                target = decoded.count < TokenBytes.minCount ? .malformed : .token
            } else {
                target = .malformed
            }
        }
        if let text = fields.messageID {
            id = MessageID(text)
            if id == nil { firstFault = .badMessageID }
        }
        if fields.hasRepeated { firstFault = .duplicateHeaders }
        if target == .missing { firstFault = .missingDeviceToken }
        if let method = fields.method, method.equals("POST") {} else { firstFault = .methodNotAllowed }

        if let text = fields.pushType {
            if let known = PushType(named: text) {
                pushType = known
            } else {
                secondFault = .invalidPushType
            }
        }
        if let text = fields.collapseID, text.count > 64 { secondFault = .badCollapseID }
        if let text = fields.priority {
            priority = Self.priority(text)
            // Background notifications need priority 5; Apple documents that 10 is an error.
            if priority == 0 || (pushType == .background && priority != 5) { secondFault = .badPriority }
        }
        if let text = fields.expiration {
            if let seconds = text.decimal() {
                expiration = seconds
            } else {
                secondFault = .badExpirationDate
            }
        }
    }

    /// Returns the priority, or 0 if the text is not one of Apple's three values.
    static func priority(_ text: ByteView) -> UInt8 {
        if text.equals("10") { return 10 }
        if text.equals("5") { return 5 }
        return text.equals("1") ? 1 : 0
    }

    /// Returns warnings about the headers alone.
    func warnings(now seconds: Int64) -> Warnings {
        var warnings: Warnings = []
        if expiration > 0 {
            if expiration < seconds { warnings.insert(.expirationPassed) }
            // Apple stores a notification for at most 30 days.
            if expiration > seconds + 30 * 86_400 { warnings.insert(.expirationTooFar) }
        }
        switch pushType {
        case .unspecified: warnings.insert(.pushTypeMissing)
        case .background: if priority == 0 { warnings.insert(.backgroundWithoutPriority) }
        case .location: if priority == 1 { warnings.insert(.locationPriority) }
        case .liveactivity: if priority == 1 { warnings.insert(.activityPriority) }
        case .pushtotalk:
            if priority != 10 && priority != 0 { warnings.insert(.pushToTalkPriority) }
            if expiration != 0 { warnings.insert(.pushToTalkExpiration) }
        default: break
        }
        return warnings
    }

    /// Returns why a topic does not fit the push type, or `none`. Without a push type every well-formed topic fits.
    static func topicFault(_ topic: KnownTopics.Topic, for type: PushType) -> Reason {
        guard topic.isWellFormed else { return .badTopic }
        if type == .unspecified || topic.suffix == type { return .none }
        // Either the type needs a suffix that the topic lacks, or the topic has the suffix of another type.
        if type.topicSuffix != nil { return .badTopic }
        return topic.suffix == nil || type == .mdm ? .none : .invalidPushType
    }
}
