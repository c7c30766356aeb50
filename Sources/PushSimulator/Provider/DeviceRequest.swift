/// A request to `/3/device/TOKEN` with its headers read, before anyone judged them.
struct DeviceRequest {
    enum Target {
        case token, missing, malformed
    }

    var target = Target.missing
    var token = TokenBytes()
    /// The client's own id, if it sent a good one.
    var id: MessageID?
    var pushType = PushType.unspecified
    /// 0: none given, which Apple takes for 10.
    var priority: UInt8 = 0
    /// Seconds since 1970; -1: none given.
    var expiration: Int64 = -1

    /// What is wrong with the headers, in two steps: authentication stands between them.
    var firstFault = Reason.none
    var secondFault = Reason.none

    static let path: StaticString = "/3/device/"

    /// - Parameter digits: what follows `/3/device/` in the path.
    @inline(__always)
    init(_ fields: RequestFields, token digits: ByteView) {
        if !digits.isEmpty {
            if let decoded = TokenBytes(hex: digits) {
                token = decoded
                target = .token
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
            // Background notifications are for priority 5 only; Apple calls 10 an error.
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

    /// 0 for what is none of Apple's three.
    static func priority(_ text: ByteView) -> UInt8 {
        if text.equals("10") { return 10 }
        if text.equals("5") { return 5 }
        return text.equals("1") ? 1 : 0
    }

    /// What is odd about the headers by themselves.
    func warnings(now seconds: Int64) -> Warnings {
        var warnings: Warnings = []
        if expiration > 0 {
            if expiration < seconds { warnings.insert(.expirationPassed) }
            // Apple stores for 30 days at most.
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

    /// Whether a topic fits the push type; a sender that gives no type has none to fit.
    static func topicFault(_ topic: TopicBook.Topic, for type: PushType) -> Reason {
        guard topic.isWellFormed else { return .badTopic }
        if type == .unspecified || topic.suffix == type { return .none }
        // A type that needs its suffix got another topic; or a plain type got a topic of another type.
        if type.topicSuffix != nil { return .badTopic }
        return topic.suffix == nil || type == .mdm ? .none : .invalidPushType
    }
}
