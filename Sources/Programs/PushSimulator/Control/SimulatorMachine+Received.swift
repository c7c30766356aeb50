import PushLoop

extension SimulatorMachine {
    private static let receivedKeys = [
        "token", "topic", "status", "reason", "id", "connection", "since", "limit", "payload",
    ]

    private struct Filter {
        var token: SimulatedDevices.Pattern?
        var topic: UInt16?
        var status: UInt16?
        var reason: String?
        var id: MessageID?
        var connection: UInt32?
    }

    /// Returns records as JSON lines, in the order of their numbers: those after number `since`, or the last `limit`.
    func received(_ request: ControlRequest) throws(ControlError) -> ControlResponse {
        let query = try ControlQuery(request.query, keys: Self.receivedKeys)
        var filter = Filter()
        if let text = query["token"] {
            guard let pattern = SimulatedDevices.Pattern(text) else {
                throw ControlError(
                    "\"\(text)\" is not a token", advice: "use hexadecimal digits, and * after a prefix")
            }
            filter.token = pattern
        }
        if let text = query["topic"] {
            // A topic that was never received has no number and no records.
            guard let number = topics.number(of: Array(text.utf8)) else { return .lines([]) }
            filter.topic = number
        }
        filter.status = try query.integer("status", in: 0...999).map { UInt16($0) }
        filter.reason = query["reason"]
        if let text = query["id"] {
            guard let id = ByteView.lending(Array(text.utf8), to: { MessageID($0) }) else {
                throw ControlError("\"\(text)\" is not an id", advice: "use a UUID in the form 8-4-4-4-12")
            }
            filter.id = id
        }
        filter.connection = try query.integer("connection", in: 1...UInt64(UInt32.max)).map { UInt32($0) }
        let limit = Int(try query.integer("limit", in: 1...100_000) ?? 1000)
        let withPayload = try query.flag("payload")

        var numbers: [UInt64] = []
        if let since = try query.integer("since", in: 0...UInt64(Int64.max)) {
            var number = max(since + 1, log.ring.oldest)
            while number <= log.ring.newest, numbers.count < limit {
                if matches(number, filter: filter) { numbers.append(number) }
                number += 1
            }
        } else {
            var number = log.ring.newest
            while number >= log.ring.oldest, numbers.count < limit {
                if matches(number, filter: filter) { numbers.append(number) }
                number -= 1
            }
            numbers.reverse()
        }
        var text = JSONText()
        for number in numbers {
            write(log.ring[number], number: number, withPayload: withPayload, to: &text)
            text.newline()
        }
        return .lines(text.bytes)
    }

    private func matches(_ number: UInt64, filter: Filter) -> Bool {
        let record = log.ring[number]
        if let status = filter.status, record.status != status { return false }
        if let topic = filter.topic, record.topic != topic { return false }
        if let connection = filter.connection, record.connection != connection { return false }
        if let id = filter.id, record.id != id { return false }
        if let reason = filter.reason, name(of: record.reason, custom: record.customReason) != reason { return false }
        if let pattern = filter.token {
            guard record.tokenLength > 0, let token = log.token(of: record) else { return false }
            return ByteView.lending(token) { pattern.matches($0) }
        }
        return true
    }

    private func write(_ record: Record, number: UInt64, withPayload: Bool, to text: inout JSONText) {
        text.object {
            $0.member("number", number: number)
            $0.member("at", number: record.at)
            $0.member("service", string: "\(record.service)")
            $0.member("connection", number: record.connection)
            if record.service == .binary {
                $0.member("identifier", number: record.stream)
            } else {
                $0.member("stream", number: record.stream)
                $0.member("id", bytes: record.id.text)
            }
            $0.member("status", number: record.status)
            if record.reason != .none {
                $0.member("reason", string: name(of: record.reason, custom: record.customReason))
            }
            if record.tokenLength > 0, let token = log.token(of: record) { $0.member("token", hex: token) }
            if record.topic != KnownTopics.none { $0.member("topic", bytes: topics.name(record.topic)) }
            if record.pushType != .unspecified { $0.member("push_type", string: record.pushType.name.description) }
            if record.priority != 0 { $0.member("priority", number: record.priority) }
            if record.flags.contains(.hasExpiration) { $0.member("expiration", number: record.expiration) }
            if record.labelLength > 0, let label = log.label(of: record) {
                $0.member(record.service == .device ? "collapse_id" : "channel_id", bytes: label)
            }
            $0.member("payload_bytes", number: record.payloadLength)
            $0.member("accepted", boolean: record.isAccepted)
            if record.flags.contains(.isDuplicate) { $0.member("duplicate", boolean: true) }
            if record.flags.contains(.isUnanswered) { $0.member("unanswered", boolean: true) }
            if record.flags.contains(.isUnprocessed) { $0.member("unprocessed", boolean: true) }
            if record.flags.contains(.isFault) { $0.member("fault", boolean: true) }
            let warnings = Warnings(rawValue: record.warnings)
            if !warnings.isEmpty {
                $0.array("warnings") { list in for name in warnings.list { list.element(name) } }
            }
            if withPayload, let payload = log.payload(of: record) {
                // Valid JSON is embedded; other payloads are written as text.
                if !payload.isEmpty, ByteView.lending(payload, to: { JSONScanner.scan($0) }) != nil {
                    $0.member("payload", json: payload.filter { $0 != 0x0a && $0 != 0x0d })
                } else {
                    $0.member("payload_text", bytes: payload)
                }
            }
        }
    }

    /// Returns the ids that were received more than once, as JSON lines. With `accepted`, only those that were accepted
    /// more than once.
    func duplicates(_ request: ControlRequest) throws(ControlError) -> ControlResponse {
        let query = try ControlQuery(request.query, keys: ["accepted", "limit"])
        let onlyAccepted = try query.flag("accepted")
        let limit = Int(try query.integer("limit", in: 1...100_000) ?? 1000)
        var text = JSONText()
        for duplicate in log.duplicates.lazy.filter({ !onlyAccepted || $0.accepted > 1 }).prefix(limit) {
            text.object {
                $0.member("id", bytes: duplicate.id.text)
                $0.member("times", number: duplicate.occurrences.count + duplicate.more)
                $0.member("accepted", number: duplicate.accepted)
                $0.array("occurrences") { list in
                    for occurrence in duplicate.occurrences {
                        list.object {
                            $0.member("number", number: occurrence.record)
                            $0.member("at", number: occurrence.at.milliseconds)
                            $0.member("token", hex: occurrence.token)
                            $0.member("status", number: occurrence.status)
                            $0.member("accepted", boolean: occurrence.isAccepted)
                        }
                    }
                }
            }
            text.newline()
        }
        return .lines(text.bytes)
    }
}
