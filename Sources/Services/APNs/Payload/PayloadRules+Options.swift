import PushModel

extension PayloadRules {
    /// The first number of seconds that is certainly a mistaken number of milliseconds: the year 5138.
    static let firstUnlikelySecond: Int64 = 100_000_000_000

    private static let maxStorageTime: Int64 = 30 * 86_400
    private static let maxChannelStorageTime: Int64 = 8 * 3600

    /// Checks the values for header fields.
    static func judgeOptions(_ options: PushOptions, into findings: inout PayloadFindings) {
        if let priority = options.priority {
            judgePriority(priority, of: options, into: &findings)
        } else if options.target == .device(.background) {
            findings.add(
                .badPriority, severity: .risky, path: "priority",
                problem: "without it the priority is 10, which is an error for background notifications",
                advice: "use 5")
        }
        if let id = options.collapseID { judgeCollapseID(id, into: &findings) }
        if let topic = options.topic, case .device(let type) = options.target, !Topic.isValid(topic, for: type) {
            let suffix = type.topicSuffix
            findings.add(
                .wrongTopic, severity: .refused, path: "topic",
                problem: suffix.isEmpty
                    ? "the topic for \(type.rawValue) is the plain bundle id"
                    : "the topic for \(type.rawValue) ends in \(suffix)",
                advice: suffix.isEmpty ? "remove the suffix" : "send it to the bundle id followed by \(suffix)")
        }
        judgeExpiration(of: options, into: &findings)
    }

    private static func judgePriority(_ priority: Int, of options: PushOptions, into findings: inout PayloadFindings) {
        guard let known = UInt8(exactly: priority).flatMap({ PushPriority(rawValue: $0) }) else {
            findings.add(
                .badPriority, severity: .refused, path: "priority", problem: "\(priority) is not a priority",
                advice: "use 10, 5 or 1")
            return
        }
        switch (options.target, options.pushType, known) {
        case (.device, .background, .ten):
            findings.add(
                .badPriority, severity: .refused, path: "priority",
                problem: "background notifications must not have priority 10",
                advice: "use 5; or send an alert")
        case (.device, .pushtotalk, .five), (.device, .pushtotalk, .one):
            findings.add(
                .priorityOfAnotherType, severity: .risky, path: "priority",
                problem: "push to talk is documented with priority 10 only",
                advice: "use 10")
        case (.device, .location, .one), (.device, .liveactivity, .one):
            findings.add(
                .priorityOfAnotherType, severity: .risky, path: "priority",
                problem: "\(options.pushType.rawValue) is documented with priorities 10 and 5", advice: "use 10 or 5")
        default:
            break
        }
    }

    private static func judgeCollapseID(_ id: String, into findings: inout PayloadFindings) {
        let count = id.utf8.count
        if count > 64 {
            findings.add(
                .badCollapseID, severity: .refused, path: "collapse_id",
                problem: "it is \(count) bytes long; 64 are allowed",
                advice: "shorten it, or use a hash of it")
        } else if CollapseID(id) == nil {
            findings.add(
                .badCollapseID, severity: .refused, path: "collapse_id",
                problem: "it is empty, or has a control character, or a space at the start or end",
                advice: "use 1 to 64 bytes of text")
        }
    }

    private static func judgeExpiration(of options: PushOptions, into findings: inout PayloadFindings) {
        guard let expiration = options.expiration else {
            if options.target == .broadcast {
                findings.add(
                    .badExpiration, severity: .refused, path: "expires_at", problem: "a broadcast needs an expiration",
                    advice: "use 0, or a time within 8 hours for a channel that stores broadcasts")
            } else if options.pushType == .pushtotalk {
                findings.add(
                    .expirationStored, severity: .risky, path: "expires_at",
                    problem: "a stored push-to-talk notification arrives too late",
                    advice: "use 0")
            }
            return
        }
        if expiration < 0 {
            findings.add(
                .badExpiration, severity: .refused, path: "expires_at", problem: "it is negative",
                advice: "give seconds since 1970, or 0 for one attempt")
            return
        }
        if expiration >= firstUnlikelySecond {
            findings.add(
                .milliseconds, severity: .risky, path: "expires_at", problem: "it looks like milliseconds",
                advice: "give seconds since 1970")
            return
        }
        if expiration > 0, options.target != .broadcast, options.pushType == .pushtotalk {
            findings.add(
                .expirationStored, severity: .risky, path: "expires_at",
                problem: "a stored push-to-talk notification arrives too late", advice: "use 0")
        }
        guard expiration > 0, let now = options.now else { return }
        let maxTime = options.target == .broadcast ? maxChannelStorageTime : maxStorageTime
        if expiration <= now.seconds {
            findings.add(
                .expirationPast, severity: .risky, path: "expires_at",
                problem: "it has passed: the notification is dropped or attempted once",
                advice: "use 0 for a single attempt")
        } else if expiration - now.seconds > maxTime {
            let time = options.target == .broadcast ? "8 hours" : "30 days"
            findings.add(
                .expirationTooLate, severity: .ignored, path: "expires_at",
                problem: "nothing is stored for longer than \(time)",
                advice: "give a time within \(time), or send it again by then")
        }
    }
}
