import JSON5
package import PushLoop
import PushText

extension SimulatorMachine {
    /// Answers one request to the control port.
    package mutating func control(_ request: ControlRequest, now: WallTime) -> ControlResponse {
        do {
            return try route(request, now)
        } catch {
            return error.response
        }
    }

    /// The paths with their methods, for the errors about unknown paths and methods.
    private static let methods: [(path: String, methods: [String])] = [
        ("/", ["GET"]), ("/state", ["GET"]), ("/received", ["GET", "DELETE"]), ("/counts", ["GET"]),
        ("/duplicates", ["GET"]), ("/faults", ["GET", "PUT", "POST", "DELETE"]),
        ("/devices", ["GET", "PUT", "DELETE"]),
        ("/devices/TOKEN", ["GET", "PUT", "DELETE"]), ("/feedback", ["GET", "POST", "DELETE"]),
    ]

    private mutating func route(_ request: ControlRequest, _ now: WallTime) throws(ControlError) -> ControlResponse {
        let device = request.path.hasPrefix("/devices/") ? String(request.path.dropFirst(9)) : nil
        let path = device == nil ? request.path : "/devices/TOKEN"
        guard let known = Self.methods.first(where: { $0.path == path }) else {
            let nearest = NearestWord.to(path, in: Self.methods.map(\.path))
            throw ControlError(
                404, "unknown path \(request.path)",
                advice: nearest.map { "did you mean \($0)?" } ?? "GET / lists the known paths")
        }
        guard known.methods.contains(request.method) else {
            throw ControlError(
                405, "method \(request.method) is not allowed for \(path)",
                advice: "use \(known.methods.joined(separator: ", "))")
        }
        switch (request.method, path) {
        case ("GET", "/"): return .text(Self.help)
        case ("GET", "/received"): return try received(request)
        case ("GET", "/duplicates"): return try duplicates(request)
        case ("DELETE", "/received"):
            _ = try ControlQuery(request.query, keys: [])
            log.removeAll()
            return Self.done
        case (_, "/faults"): return try controlFaults(request)
        case (_, "/devices"), (_, "/devices/TOKEN"): return try controlDevices(request, device, now)
        case (_, "/feedback"): return try controlFeedback(request, now)
        case ("GET", "/state"):
            _ = try ControlQuery(request.query, keys: [])
            return state(now)
        default:
            _ = try ControlQuery(request.query, keys: [])
            return counts()
        }
    }

    static var done: ControlResponse { .json { $0.boolean("done", true) } }

    /// Parses a body as JSON5, so that the contents of a script file can be sent unchanged.
    static func tree(_ body: [UInt8]) throws(ControlError) -> JSONTree {
        do {
            return try JSON5Reader.read(body)
        } catch {
            throw ControlError("the body is not valid JSON5: \(error)", advice: "send one JSON or JSON5 object")
        }
    }

    // MARK: State and counts

    private func state(_ now: WallTime) -> ControlResponse {
        .json {
            $0.number("started_at", startedAt.milliseconds)
            $0.number("now", now.milliseconds)
            $0.number("connections", connections)
            $0.number("connections_refused", refusedConnections)
            $0.number("requests", log.total)
            $0.number("accepted", log.acceptedTotal)
            $0.object("records") {
                $0.number("kept", log.ring.count)
                $0.number("capacity", log.ring.capacity)
                $0.number("oldest", log.ring.oldest)
                $0.number("newest", log.ring.newest)
            }
            $0.object("devices") {
                $0.number("known", devices.count)
                $0.string("unknown", devices.acceptsUnknown ? "accept" : "reject")
            }
            $0.number("channels", channels.count)
            $0.number("feedback", feedback.count)
            $0.number("fault_rules", faults.script.rules.count)
            $0.object("checks") {
                $0.boolean("authentication", settings.requiresAuthentication)
                $0.boolean("signatures", !keys.isOpen && keys.check != nil)
                $0.boolean("begins_with_one_stream", settings.beginsWithOneStream)
                $0.boolean("wedges_after_expired", settings.tokens.wedgesAfterExpired)
            }
            $0.array("keys") { list in
                for key in settings.keys {
                    list.object {
                        $0.string("key_id", key.keyID)
                        $0.string("team_id", key.teamID)
                        $0.string("environment", key.environment?.rawValue ?? "both")
                    }
                }
            }
        }
    }

    private func counts() -> ControlResponse {
        .json { text in
            text.number("requests", log.total)
            text.number("accepted", log.acceptedTotal)
            text.number("unanswered", log.unansweredTotal)
            text.number("unprocessed", log.unprocessedTotal)
            text.number("duplicates", log.duplicateTotal)
            text.number("accepted_again", log.acceptedDuplicateTotal)
            text.array("answers") { list in
                log.forEachCount { status, reason, custom, count in
                    list.object {
                        $0.number("status", status)
                        if reason != .none { $0.string("reason", name(of: reason, custom)) }
                        $0.number("count", count)
                    }
                }
            }
        }
    }

    func name(of reason: Reason, _ custom: UInt8) -> String {
        guard reason == .custom else { return reason.name.description }
        let names = faults.script.customReasons
        return Int(custom) < names.count ? names[Int(custom)] : reason.name.description
    }

    // MARK: Faults

    private mutating func controlFaults(_ request: ControlRequest) throws(ControlError) -> ControlResponse {
        _ = try ControlQuery(request.query, keys: [])
        switch request.method {
        case "GET":
            return .json { text in
                text.number("seed", faults.script.seed)
                text.array("rules") { list in
                    for (index, rule) in faults.script.rules.enumerated() {
                        list.object {
                            $0.string("on", rule.moment.rawValue)
                            $0.number("applied", faults.applied(index))
                            if let times = rule.times { $0.number("left", times - min(times, faults.applied(index))) }
                            if index < faultSources.count { $0.raw("rule", faultSources[index]) }
                        }
                    }
                }
            }
        case "DELETE":
            replaceFaults(FaultScript(), sources: [])
        default:
            let tree = try Self.tree(request.body)
            var script: FaultScript
            do {
                script = try FaultScript(tree)
            } catch {
                throw ControlError("\(error)", advice: "the active rules are unchanged")
            }
            var sources = Self.sources(tree)
            if request.method == "POST" {
                // The new rules are appended to the active ones; all counts start again.
                do {
                    script = try faults.script.adding(script)
                } catch {
                    throw ControlError("\(error)", advice: "the active rules are unchanged; PUT replaces them")
                }
                sources = faultSources + sources
            }
            replaceFaults(script, sources: sources)
        }
        return .json { $0.number("rules", faults.script.rules.count) }
    }

    package mutating func replaceFaults(_ script: FaultScript, sources: [[UInt8]] = []) {
        faults.replace(script)
        faultSources = sources
    }

    /// Returns each rule of a script as JSON, so that GET shows the rules as they were sent.
    private static func sources(_ tree: JSONTree) -> [[UInt8]] {
        guard let rules = tree["rules"]?.elements else { return [] }
        return rules.map { rule in
            var text = JSONText()
            text.tree(rule)
            return text.bytes
        }
    }

    // MARK: Feedback

    private mutating func controlFeedback(
        _ request: ControlRequest, _ now: WallTime
    ) throws(ControlError) -> ControlResponse {
        _ = try ControlQuery(request.query, keys: [])
        switch request.method {
        case "GET":
            var text = JSONText()
            for entry in feedback.entries {
                text.object {
                    $0.hex("token", entry.token)
                    $0.number("time", entry.time)
                }
                text.newline()
            }
            return .lines(text.bytes)
        case "DELETE":
            feedback.removeAll()
            return Self.done
        default:
            let advice = "send {\"token\": \"…hex…\", \"time\": seconds since 1970, default: now}"
            let entry = try ControlError.reading(advice: advice) {
                let object = try ScriptObject(Self.tree(request.body), at: "", keys: ["token", "time"])
                let text = try object.string("token") ?? ""
                guard let pattern = DeviceBook.Pattern(text), !pattern.isPrefix, let token = Hex.bytes(text) else {
                    throw ControlError("\"\(text)\" is not a token", advice: advice)
                }
                return (token, try object.integer("time", in: 0...Int64(UInt32.max)) ?? now.seconds)
            }
            guard feedback.add(entry.0, at: WallTime(milliseconds: entry.1 * 1000)) else {
                throw ControlError(409, "the feedback list is full", advice: "read it, or DELETE /feedback")
            }
            return .json { $0.number("entries", feedback.count) }
        }
    }
}
