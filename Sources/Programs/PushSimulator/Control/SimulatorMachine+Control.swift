import JSON5
package import PushLoop

extension SimulatorMachine {
    /// Answers one request to the control port.
    package mutating func control(_ request: ControlRequest, now: WallTime) -> ControlResponse {
        do {
            return try route(request, now: now)
        } catch {
            return error.response
        }
    }

    private static let paths = ControlPaths(
        paths: [
            ("/", ["GET"]), ("/state", ["GET"]), ("/received", ["GET", "DELETE"]), ("/counts", ["GET"]),
            ("/duplicates", ["GET"]), ("/faults", ["GET", "PUT", "POST", "DELETE"]),
            ("/devices", ["GET", "PUT", "DELETE"]),
            ("/devices/TOKEN", ["GET", "PUT", "DELETE"]), ("/devices/TOKEN/rotate", ["POST"]),
            ("/phones", ["GET", "POST", "DELETE"]), ("/phones/NUMBER", ["GET", "DELETE"]),
            ("/activities", ["GET", "POST"]), ("/activities/NUMBER", ["GET"]), ("/activities/NUMBER/dismiss", ["POST"]),
            ("/feedback", ["GET", "POST", "DELETE"]),
            ("/store/sign", ["POST"]), ("/store/notifications", ["POST"]),
            ("/subscriptions", ["GET", "POST", "DELETE"]),
        ], index: "/")

    /// Returns a path as it is in ``paths``, and the token or number in it.
    private static func form(of path: String) -> (path: String, name: String?) {
        for form in ["/devices/TOKEN", "/phones/NUMBER", "/activities/NUMBER"] {
            let root = form.prefix { $0.isLowercase || $0 == "/" }
            guard path.hasPrefix(root) else { continue }
            let name = path.dropFirst(root.count)
            for action in ["/rotate", "/dismiss"] where name.hasSuffix(action) {
                guard paths.paths.contains(where: { $0.path == form + action }) else { continue }
                return (form + action, String(name.dropLast(action.count)))
            }
            return (form, String(name))
        }
        return (path, nil)
    }

    private mutating func route(_ request: ControlRequest, now: WallTime) throws(ControlError) -> ControlResponse {
        let (path, name) = Self.form(of: request.path)
        try Self.paths.check(request, at: path)
        switch (request.method, path) {
        case ("GET", "/"): return .text(Self.help)
        case ("GET", "/received"): return try received(request)
        case ("GET", "/duplicates"): return try duplicates(request)
        case ("DELETE", "/received"):
            _ = try ControlQuery(request.query, keys: [])
            log.removeAll()
            return Self.done
        case (_, "/faults"): return try faults.control(request)
        case (_, "/devices"), (_, "/devices/TOKEN"): return try controlDevices(request, token: name, now: now)
        case (_, "/devices/TOKEN/rotate"): return try rotate(request, token: name ?? "", now: now)
        case (_, "/phones"), (_, "/phones/NUMBER"): return try controlPhones(request, number: name, now: now)
        case (_, "/activities"), (_, "/activities/NUMBER"), (_, "/activities/NUMBER/dismiss"):
            phones.expire(at: now, in: &devices)
            return try controlActivities(request, number: name, now: now)
        case (_, "/feedback"): return try controlFeedback(request, now: now)
        case (_, "/store/sign"), (_, "/store/notifications"):
            throw ControlError(
                "this simulator signs nothing", status: 404, advice: "start it with `carillon simulate`")
        case (_, "/subscriptions"):
            throw ControlError(
                "this simulator has no push service of browsers", status: 404,
                advice: "start it with `carillon simulate --webpush-port 2444`")
        case ("GET", "/state"):
            _ = try ControlQuery(request.query, keys: [])
            return state(now: now)
        default:
            _ = try ControlQuery(request.query, keys: [])
            return counts()
        }
    }

    static var done: ControlResponse { .json { $0.member("done", boolean: true) } }

    /// Parses a body as JSON5, so that the contents of a script file can be sent unchanged.
    static func tree(_ body: [UInt8]) throws(ControlError) -> JSONTree {
        do {
            return try JSON5Reader.read(body)
        } catch {
            throw ControlError("the body is not valid JSON5: \(error)", advice: "send one JSON or JSON5 object")
        }
    }

    // MARK: State and counts

    private func state(now: WallTime) -> ControlResponse {
        .json {
            $0.member("started_at", number: startedAt.milliseconds)
            $0.member("now", number: now.milliseconds)
            $0.member("connections", number: connections)
            $0.member("connections_refused", number: refusedConnections)
            $0.member("requests", number: log.total)
            $0.member("accepted", number: log.acceptedTotal)
            $0.object("records") {
                $0.member("kept", number: log.ring.count)
                $0.member("capacity", number: log.ring.capacity)
                $0.member("oldest", number: log.ring.oldest)
                $0.member("newest", number: log.ring.newest)
            }
            $0.object("devices") {
                $0.member("known", number: devices.count)
                $0.member("unknown", string: devices.acceptsUnknown ? "accept" : "reject")
            }
            $0.member("phones", number: phones.count)
            $0.object("activities") {
                $0.member("known", number: phones.activityCount)
                $0.member("live", number: phones.liveCount)
            }
            $0.member("channels", number: channels.count)
            $0.member("feedback", number: feedback.count)
            $0.member("fault_rules", number: faults.script.rules.count)
            $0.object("checks") {
                $0.member("authentication", boolean: settings.requiresAuthentication)
                $0.member("signatures", boolean: !keys.isOpen && keys.check != nil)
                $0.member("begins_with_one_stream", boolean: settings.beginsWithOneStream)
                $0.member("wedges_after_expired", boolean: settings.tokens.wedgesAfterExpired)
            }
            $0.array("keys") { list in
                for key in settings.keys {
                    list.object {
                        $0.member("key_id", string: key.keyID)
                        $0.member("team_id", string: key.teamID)
                        $0.member("environment", string: key.environment?.rawValue ?? "both")
                    }
                }
            }
        }
    }

    private func counts() -> ControlResponse {
        .json { text in
            text.member("requests", number: log.total)
            text.member("accepted", number: log.acceptedTotal)
            text.member("unanswered", number: log.unansweredTotal)
            text.member("unprocessed", number: log.unprocessedTotal)
            text.member("duplicates", number: log.duplicateTotal)
            text.member("accepted_again", number: log.acceptedDuplicateTotal)
            text.array("answers") { list in
                log.forEachCount { status, reason, custom, count in
                    list.object {
                        $0.member("status", number: status)
                        if reason != .none { $0.member("reason", string: name(of: reason, custom: custom)) }
                        $0.member("count", number: count)
                    }
                }
            }
        }
    }

    func name(of reason: Reason, custom: UInt8) -> String {
        guard reason == .custom else { return reason.name.description }
        let names = faults.script.customReasons
        return Int(custom) < names.count ? names[Int(custom)] : reason.name.description
    }

    // MARK: Feedback

    private mutating func controlFeedback(
        _ request: ControlRequest, now: WallTime
    ) throws(ControlError) -> ControlResponse {
        _ = try ControlQuery(request.query, keys: [])
        switch request.method {
        case "GET":
            var text = JSONText()
            for entry in feedback.entries {
                text.object {
                    $0.member("token", hex: entry.token)
                    $0.member("time", number: entry.time)
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
                guard let pattern = SimulatedDevices.Pattern(text), !pattern.isPrefix, let token = Hex.bytes(text)
                else {
                    throw ControlError("\"\(text)\" is not a token", advice: advice)
                }
                return (token: token, time: try object.integer("time", in: 0...Int64(UInt32.max)) ?? now.seconds)
            }
            guard feedback.add(entry.token, at: WallTime(milliseconds: entry.time * 1000)) else {
                throw ControlError("the feedback list is full", status: 409, advice: "read it, or DELETE /feedback")
            }
            return .json { $0.member("entries", number: feedback.count) }
        }
    }
}
