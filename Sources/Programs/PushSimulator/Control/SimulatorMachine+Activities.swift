import JSON5
import PushLoop

extension SimulatorMachine {
    private static let activityAdvice = """
        an activity is {"phone": NUMBER, "type": "DeliveryAttributes", "attributes": {…}, "content_state": {…}, \
        "channel": "BASE64"}; only "phone" and "type" are needed
        """

    mutating func controlActivities(
        _ request: ControlRequest, number text: String?, now: WallTime
    ) throws(ControlError) -> ControlResponse {
        guard let text else {
            if request.method == "GET" { return try listActivities(request.query, now: now) }
            _ = try ControlQuery(request.query, keys: [])
            return try startActivity(from: request.body, now: now)
        }
        let isRead = request.method == "GET"
        let query = try ControlQuery(request.query, keys: isRead ? ["member"] : [])
        guard let number = UInt64(text), phones.activities[number] != nil else {
            throw ControlError(
                "there is no activity \(text)", status: 404,
                advice: "GET /activities lists the activities, each with its number")
        }
        if !isRead { _ = phones.dismiss(number, at: now, in: &devices) }
        return answer(number, member: query["member"], now: now)
    }

    private func answer(_ number: UInt64, member: String?, now: WallTime) -> ControlResponse {
        .json {
            if let activity = phones.activities[number] {
                Self.write(activity, member: member ?? "name", now: now, to: &$0)
            }
        }
    }

    private mutating func startActivity(from body: [UInt8], now: WallTime) throws(ControlError) -> ControlResponse {
        let beginning = try ControlError.reading(advice: Self.activityAdvice) {
            let object = try ScriptObject(
                Self.tree(body), at: "", keys: ["phone", "type", "attributes", "content_state", "channel"])
            guard let number = try object.integer("phone", in: 1...Int64.max),
                let phone = phones.phones[UInt64(number)]
            else { throw object.error("this must be the number of a phone", at: "phone") }
            guard let type = try object.string("type"), !type.isEmpty else {
                throw object.error("this must be a type of activities", at: "type")
            }
            let channel = try object.string("channel")
            return SimulatedPhones.Beginning(
                phone: phone.number, app: phone.app, environment: phone.environment, type: Array(type.utf8),
                attributes: try Self.json("attributes", of: object),
                content: try Self.json("content_state", of: object), timestamp: now.seconds,
                channel: channel.map { Array($0.utf8) }, hasToken: channel == nil)
        }
        guard let number = phones.start(beginning, at: now, in: &devices, random: &random) else {
            throw ControlError(
                "there are too many: \(phones.activityCount) activities, \(devices.count) tokens", status: 409,
                advice: "end some, or DELETE /phones")
        }
        return answer(number, member: nil, now: now)
    }

    /// Returns an object as JSON of at most the size that Apple takes; {} if it is not given.
    private static func json(_ key: String, of object: ScriptObject) throws(ScriptError) -> [UInt8] {
        guard let value = object.value(key) else { return Array("{}".utf8) }
        guard value.members != nil else { throw object.error("this must be an object, not \(value.kind)", at: key) }
        var text = JSONText()
        text.tree(value)
        guard text.bytes.count <= PushType.liveactivity.payloadLimit else {
            throw object.error("this is larger than \(PushType.liveactivity.payloadLimit) bytes", at: key)
        }
        return text.bytes
    }

    // MARK: Lists

    private func listActivities(_ text: String, now: WallTime) throws(ControlError) -> ControlResponse {
        let query = try ControlQuery(text, keys: ["phone", "state", "member", "since", "limit"])
        let phone = try query.integer("phone", in: 1...UInt64(Int64.max))
        let since = try query.integer("since", in: 0...UInt64(Int64.max)) ?? 0
        let limit = Int(try query.integer("limit", in: 1...100_000) ?? 1000)
        var state: Activity.State?
        if let name = query["state"] {
            state = Activity.State(rawValue: name)
            guard state != nil else {
                throw ControlError(
                    "\"\(name)\" is not a state",
                    advice: "use one of \(Activity.State.allCases.map(\.rawValue).joined(separator: ", "))")
            }
        }
        let found = phones.activities.values.filter {
            $0.number > since && (phone == nil || $0.phone == phone) && (state == nil || $0.state(at: now) == state)
        }
        var lines = JSONText()
        for activity in found.sorted(by: { $0.number < $1.number }).prefix(limit) {
            lines.object { Self.write(activity, member: query["member"] ?? "name", now: now, to: &$0) }
            lines.newline()
        }
        return .lines(lines.bytes)
    }

    private static func write(_ activity: Activity, member: String, now: WallTime, to text: inout JSONText) {
        text.member("activity", number: activity.number)
        if activity.phone > 0 { text.member("phone", number: activity.phone) }
        text.member("app", string: activity.app)
        text.member("type", bytes: activity.type)
        if let name = name(activity, member: member) { text.member("name", bytes: name) }
        text.member("state", string: activity.state(at: now).rawValue)
        if let token = activity.token { text.member("token", hex: token) }
        if let channel = activity.channel { text.member("channel", bytes: channel) }
        text.member("attributes", json: onOneLine(activity.attributes))
        text.member("content_state", json: onOneLine(activity.content))
        text.member("timestamp", number: activity.timestamp)
        if let date = activity.staleDate { text.member("stale_date", number: date) }
        if let date = activity.dismissalDate { text.member("dismissal_date", number: date) }
        if let relevance = activity.relevance { text.member("relevance_score", json: relevance) }
        text.object("updates") {
            $0.member("shown", number: activity.shown)
            $0.member("stale", number: activity.stale)
            $0.member("over_budget", number: activity.overBudget)
            $0.member("not_shown", number: activity.notShown)
        }
        text.member("started_at", number: activity.startedAt.milliseconds)
        if let endedAt = activity.endedAt { text.member("ended_at", number: endedAt.milliseconds) }
        if let ending = activity.ending { text.member("ended_by", string: ending.rawValue) }
        if !activity.oldTokens.isEmpty {
            text.array("old_tokens") { list in for token in activity.oldTokens { list.element(Hex.text(token)) } }
        }
    }

    /// Returns the text or number in a member of the attributes.
    private static func name(_ activity: Activity, member: String) -> [UInt8]? {
        ByteView.lending(activity.attributes) { attributes in
            var found: ByteView?
            guard var members = JSONMembers(attributes) else { return nil }
            while let (key, value) = members.next() {
                if JSONEscapes.resolve(key) == Array(member.utf8) { found = value }
            }
            guard let found else { return nil }
            return JSONMembers.string(found) ?? (found.decimal() == nil ? nil : found.copied())
        }
    }

    private static func onOneLine(_ json: [UInt8]) -> [UInt8] { json.filter { $0 != 0x0a && $0 != 0x0d } }
}
