import PushModel

extension PayloadRules {
    /// The first number of seconds that is certainly a mistaken number of milliseconds: the year 5138.
    static let firstUnlikelySecond: Int64 = 100_000_000_000

    private static let longestStorage: Int64 = 30 * 86_400
    private static let longestChannelStorage: Int64 = 8 * 3600

    /// Checks the values for header fields.
    static func judgeOptions(_ options: PushOptions, _ findings: inout PayloadFindings) {
        if let priority = options.priority {
            judgePriority(priority, options, &findings)
        } else if options.target == .device(.background) {
            findings.add(
                .risky, .badPriority, "priority",
                "without it the priority is 10, which is an error for background notifications",
                "use 5")
        }
        if let id = options.collapseID { judgeCollapseID(id, &findings) }
        if let topic = options.topic, case .device(let type) = options.target, !Topic.fits(topic, type) {
            let suffix = type.topicSuffix
            findings.add(
                .refused, .wrongTopic, "topic",
                suffix.isEmpty
                    ? "the topic for \(type.rawValue) is the plain bundle id"
                    : "the topic for \(type.rawValue) ends in \(suffix)",
                suffix.isEmpty ? "remove the suffix" : "send it to the bundle id followed by \(suffix)")
        }
        judgeExpiration(options, &findings)
    }

    private static func judgePriority(_ priority: Int, _ options: PushOptions, _ findings: inout PayloadFindings) {
        guard let known = UInt8(exactly: priority).flatMap({ PushPriority(rawValue: $0) }) else {
            findings.add(.refused, .badPriority, "priority", "\(priority) is not a priority", "use 10, 5 or 1")
            return
        }
        switch (options.target, options.pushType, known) {
        case (.device, .background, .ten):
            findings.add(
                .refused, .badPriority, "priority", "background notifications must not have priority 10",
                "use 5; or send an alert")
        case (.device, .pushtotalk, .five), (.device, .pushtotalk, .one):
            findings.add(
                .risky, .priorityOfAnotherType, "priority", "push to talk is documented with priority 10 only",
                "use 10")
        case (.device, .location, .one), (.device, .liveactivity, .one):
            findings.add(
                .risky, .priorityOfAnotherType, "priority",
                "\(options.pushType.rawValue) is documented with priorities 10 and 5", "use 10 or 5")
        default:
            break
        }
    }

    private static func judgeCollapseID(_ id: String, _ findings: inout PayloadFindings) {
        let count = id.utf8.count
        if count > 64 {
            findings.add(
                .refused, .badCollapseID, "collapse_id", "it is \(count) bytes long; 64 are allowed",
                "shorten it, or use a hash of it")
        } else if CollapseID(id) == nil {
            findings.add(
                .refused, .badCollapseID, "collapse_id",
                "it is empty, or has a control character, or a space at the start or end",
                "use 1 to 64 bytes of text")
        }
    }

    private static func judgeExpiration(_ options: PushOptions, _ findings: inout PayloadFindings) {
        guard let expiration = options.expiration else {
            if options.target == .broadcast {
                findings.add(
                    .refused, .badExpiration, "expires_at", "a broadcast needs an expiration",
                    "use 0, or a time within 8 hours for a channel that stores broadcasts")
            } else if options.pushType == .pushtotalk {
                findings.add(
                    .risky, .expirationStored, "expires_at", "a stored push-to-talk notification arrives too late",
                    "use 0")
            }
            return
        }
        if expiration < 0 {
            findings.add(
                .refused, .badExpiration, "expires_at", "it is negative",
                "give seconds since 1970, or 0 for one attempt")
            return
        }
        if expiration >= firstUnlikelySecond {
            findings.add(
                .risky, .milliseconds, "expires_at", "it looks like milliseconds", "give seconds since 1970")
            return
        }
        if expiration > 0, options.target != .broadcast, options.pushType == .pushtotalk {
            findings.add(
                .risky, .expirationStored, "expires_at", "a stored push-to-talk notification arrives too late", "use 0")
        }
        guard expiration > 0, let now = options.now else { return }
        let longest = options.target == .broadcast ? longestChannelStorage : longestStorage
        if expiration <= now.seconds {
            findings.add(
                .risky, .expirationPast, "expires_at", "it has passed: the notification is dropped or attempted once",
                "use 0 for a single attempt")
        } else if expiration - now.seconds > longest {
            let time = options.target == .broadcast ? "8 hours" : "30 days"
            findings.add(
                .ignored, .expirationTooLate, "expires_at", "nothing is stored for longer than \(time)",
                "give a time within \(time), or send it again by then")
        }
    }
}
