import JSON5
import PushText

extension FaultScript {
    /// Parses a script from JSON5 text.
    package init(_ text: [UInt8]) throws(ScriptError) {
        let tree: JSONTree
        do {
            tree = try JSON5Reader.read(text)
        } catch {
            throw ScriptError(line: error.line, path: "", problem: "this is not valid JSON5: \(error.problem)")
        }
        try self.init(tree)
    }

    init(_ tree: JSONTree) throws(ScriptError) {
        let object = try ScriptObject(tree, at: "", keys: ["seed", "rules"])
        seed = UInt64(try object.integer("seed", in: 0...9_007_199_254_740_992) ?? 1)
        guard let list = object.value("rules") else { return }
        guard let elements = list.elements else { throw object.error("this must be an array of rules", at: "rules") }
        guard elements.count <= Self.maxRules else {
            throw object.error("\(elements.count) rules exceed the maximum of \(Self.maxRules)", at: "rules")
        }
        for (index, element) in elements.enumerated() {
            try append(element, at: "rules[\(index)]", line: object.line(of: "rules"))
        }
    }

    private static let ruleKeys = [
        "on", "match", "times", "latency", "streams", "answer", "goaway", "reset", "silence", "half_frame", "close",
        "wedge", "refuse", "tls", "packet", "processed",
    ]
    private static let effectKeys = [
        "answer", "goaway", "reset", "silence", "half_frame", "close", "wedge", "refuse", "tls", "packet",
    ]

    private mutating func append(_ tree: JSONTree, at path: String, line: Int?) throws(ScriptError) {
        // Use the line of the first key of the rule; it is closer than the line of the list.
        var line = line
        if let first = tree.members?.first { line = first.line }
        let object = try ScriptObject(tree, at: path, line: line, keys: Self.ruleKeys)
        var rule = FaultRule()
        rule.moment = try object.choice("on", of: FaultRule.Moment.self) ?? .request
        rule.times = try object.integer("times", in: 1...1_000_000_000).map(UInt64.init)
        if let match = object.value("match") {
            rule.match = try FaultRule.Match(match, at: object.path(of: "match"), line: object.line(of: "match"))
        }
        if let latency = object.value("latency") {
            if latency.members != nil {
                let parts = try ScriptObject(
                    latency, at: object.path(of: "latency"), line: object.line(of: "latency"),
                    keys: ["fixed", "spread"])
                rule.latency = try parts.duration("fixed") ?? 0
                rule.spread = try parts.duration("spread") ?? 0
            } else {
                rule.latency = try object.duration("latency") ?? 0
            }
        }
        rule.streams = try object.integer("streams", in: 0...Int64(Int32.max)).map(UInt32.init)
        rule.isProcessed = try object.boolean("processed")
        let effects = Self.effectKeys.filter { object.has($0) }
        guard effects.count <= 1 else {
            throw object.error("a rule may have one effect; this rule has \(effects.joined(separator: " and "))")
        }
        if let key = effects.first { rule.effect = try effect(key, of: object) }
        guard rule.effect != nil || rule.latency + rule.spread > 0 || rule.streams != nil else {
            throw object.error(
                "this rule does nothing; give it one of latency, streams, \(Self.effectKeys.joined(separator: ", "))")
        }
        try Self.check(rule, of: object)
        rules.append(rule)
    }

    private mutating func effect(_ key: String, of object: ScriptObject) throws(ScriptError) -> FaultRule.Effect {
        switch key {
        case "answer": return .answer(try answer(object))
        case "goaway": return .goAway(try Self.goAway(object))
        case "reset": return .reset(try Self.code("reset", of: object))
        case "packet":
            guard let status = try object.integer("packet", in: 0...255) else { break }
            return .packet(UInt8(status))
        case "tls":
            switch try object.string("tls") {
            case "refuse": return .refuseTLS
            case "expired_certificate": return .expiredCertificate
            default: throw object.error("this must be \"refuse\" or \"expired_certificate\"", at: "tls")
            }
        default: break
        }
        guard try object.boolean(key) == true else {
            throw object.error("this must be true; remove the key to disable the effect", at: key)
        }
        switch key {
        case "silence": return .silence
        case "half_frame": return .halfFrame
        case "close": return .close
        case "wedge": return .wedge
        default: return .refuse
        }
    }

    private mutating func answer(_ object: ScriptObject) throws(ScriptError) -> FaultRule.Answer {
        let parts = try ScriptObject(
            object.value("answer") ?? JSONTree(.null), at: object.path(of: "answer"), line: object.line(of: "answer"),
            keys: ["status", "reason", "timestamp", "retry_after"])
        let name = try parts.string("reason")
        let known = name.flatMap { Reason(named: $0) }
        guard let status = try parts.integer("status", in: 200...599).map(UInt16.init) ?? known?.status else {
            throw parts.error("an answer needs a status or one of Apple's reasons")
        }
        var answer = FaultRule.Answer(status: status, reason: known ?? .none)
        if let name, known == nil {
            guard name.utf8.count <= 100 else { throw parts.error("a reason may have at most 100 bytes", at: "reason") }
            if !customReasons.contains(name) { customReasons.append(name) }
            guard customReasons.count <= 256, let index = customReasons.firstIndex(of: name) else {
                throw parts.error("a script may have at most 256 reasons that are not Apple's", at: "reason")
            }
            answer.reason = .custom
            answer.customReason = UInt8(index)
        }
        answer.timestamp = try parts.integer("timestamp", in: 0...9_007_199_254_740_992)
        answer.retryAfter = try parts.integer("retry_after", in: 0...Int64(UInt32.max)).map(UInt32.init)
        return answer
    }

    private static func goAway(_ object: ScriptObject) throws(ScriptError) -> FaultRule.GoAway {
        let parts = try ScriptObject(
            object.value("goaway") ?? JSONTree(.null), at: object.path(of: "goaway"), line: object.line(of: "goaway"),
            keys: ["last", "back", "code", "reason", "close"])
        var goAway = FaultRule.GoAway()
        if let last = try parts.integer("last", in: 0...Int64(Int32.max)) {
            guard !parts.has("back") else { throw parts.error("give \"last\" or \"back\", not both") }
            goAway.last = .stream(Int32(last))
        } else if let back = try parts.integer("back", in: 0...1_000_000) {
            goAway.last = .back(UInt32(back))
        }
        if parts.has("code") { goAway.code = try code("code", of: parts) }
        goAway.reason = try parts.string("reason")
        goAway.closes = try parts.boolean("close") ?? false
        return goAway
    }

    /// The error code names of RFC 9113 §7, in the order of their codes.
    private static let codes = [
        "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
        "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
    ]

    private static func code(_ key: String, of object: ScriptObject) throws(ScriptError) -> UInt32 {
        if let name = object.value(key)?.string {
            guard let code = codes.firstIndex(of: name) else {
                throw object.error("\"\(name)\" is not one of \(codes.joined(separator: ", "))", at: key)
            }
            return UInt32(code)
        }
        return UInt32(try object.integer(key, in: 0...Int64(UInt32.max)) ?? 0)
    }

    /// Checks that the effect and the criteria fit the moment. A rule that can never apply is an error.
    private static func check(_ rule: FaultRule, of object: ScriptObject) throws(ScriptError) {
        let moments: [FaultRule.Moment]
        switch rule.effect {
        case nil: moments = FaultRule.Moment.allCases
        case .answer, .reset, .wedge: moments = [.request]
        case .goAway: moments = [.request, .connect]
        case .packet: moments = [.binary]
        case .silence: moments = [.request, .connect, .binary, .binaryConnect, .feedback]
        case .close: moments = FaultRule.Moment.allCases
        case .halfFrame: moments = [.request, .binary, .feedback]
        case .refuse, .refuseTLS, .expiredCertificate: moments = [.connect, .binaryConnect, .feedback]
        }
        guard moments.contains(rule.moment) else {
            let right = moments.map { "\"\($0.rawValue)\"" }.joined(separator: " or ")
            throw object.error("this effect is not possible on \"\(rule.moment.rawValue)\"; use it on \(right)")
        }
        if rule.streams != nil, rule.moment != .request, rule.moment != .connect {
            throw object.error("only HTTP/2 connections have a stream limit", at: "streams")
        }
        let match = rule.match
        let isOfRequest = rule.moment == .request || rule.moment == .binary
        if !isOfRequest, match.token != nil || match.request != nil || match.after != nil {
            throw object.error("a new connection has no token and no requests", at: "match")
        }
        if rule.moment != .request,
            match.status != nil || match.reason != nil || match.topic != nil || match.pushType != nil
        {
            throw object.error("status, reason, topic and push_type are available only on \"request\"", at: "match")
        }
    }
}

extension FaultRule.Match {
    private static let keys = [
        "token", "topic", "push_type", "connection", "request", "after", "status", "reason", "every", "share",
    ]

    init(_ tree: JSONTree, at path: String, line: Int?) throws(ScriptError) {
        let object = try ScriptObject(tree, at: path, line: line, keys: Self.keys)
        if let text = try object.string("token") {
            guard let pattern = SimulatedDevices.Pattern(text) else {
                throw object.error(
                    "\"\(text)\" is not a token: use hexadecimal digits, and * after a prefix", at: "token")
            }
            token = pattern
        }
        topic = try object.string("topic")
        if let name = try object.string("push_type") {
            guard let known = ByteView.lending(Array(name.utf8), to: { PushType(named: $0) }) else {
                let names = PushType.allCases.dropFirst().map { $0.name.description }.joined(separator: ", ")
                throw object.error("\"\(name)\" is not one of \(names)", at: "push_type")
            }
            pushType = known
        }
        connection = try object.integer("connection", in: 1...Int64(UInt32.max)).map(UInt32.init)
        request = try object.integer("request", in: 1...Int64.max).map(UInt64.init)
        after = try object.integer("after", in: 0...Int64.max).map(UInt64.init)
        status = try object.integer("status", in: 200...599).map(UInt16.init)
        if let name = try object.string("reason") {
            guard let known = Reason(named: name) else {
                let names = Reason.allCases.map { $0.name.description }
                let hint = NearestWord.to(name, in: names).map { "; did you mean \"\($0)\"?" } ?? ""
                throw object.error("\"\(name)\" is not one of Apple's reasons\(hint)", at: "reason")
            }
            reason = known
        }
        every = try object.integer("every", in: 1...Int64.max).map(UInt64.init)
        share = try object.share("share")
    }
}
