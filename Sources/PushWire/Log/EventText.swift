package import PushModel

/// Writes events as the lines that monitors read. Keeps what topics have in common.
package struct EventText: Sendable {
    /// By app and kind: `,"family":…,"app":…,"kind":…`.
    private var middles: [AppID: [[UInt8]]] = [:]
    private var without: [[UInt8]] = []
    private var lastApp: AppID?
    private var last: [[UInt8]] = []

    package init() {}

    /// One JSON object, without a newline. `apps` and `bytes`: as the walk through the segment gave them.
    package mutating func append(
        _ event: LoggedEvent, _ apps: [AppID], _ bytes: UnsafeRawBufferPointer, to line: inout [UInt8]
    ) {
        word("{\"v\":1,\"seq\":", &line)
        DecimalText.append(event.seq, to: &line)
        word(",\"prev\":", &line)
        DecimalText.append(event.prev, to: &line)
        word(",\"ts\":", &line)
        DecimalText.append(event.time, to: &line)
        line.append(contentsOf: middle(event.kind, event.app.map { apps[$0] }))
        if let id = event.messageID { text(",\"message_id\":", id, bytes, &line) }
        if let device = event.device {
            word(",\"device\":\"", &line)
            withUnsafeTemporaryAllocation(byteCount: DeviceID.textLength, alignment: 8) { text in
                device.write(into: text.baseAddress!)
                line.append(contentsOf: text)
            }
            line.append(UInt8(ascii: "\""))
        }
        if let id = event.apnsID {
            word(",\"apns_id\":\"", &line)
            withUnsafeTemporaryAllocation(byteCount: APNSID.textLength, alignment: 8) { text in
                id.write(into: text.baseAddress!)
                line.append(contentsOf: text)
            }
            line.append(UInt8(ascii: "\""))
        }
        if let attempt = event.attempt { number(",\"attempt\":", attempt, &line) }
        if let status = event.status { number(",\"status\":", status, &line) }
        if let reason = event.reason { text(",\"reason\":", reason, bytes, &line) }
        if let latency = event.latency { number(",\"latency_ms\":", latency, &line) }
        if let traceparent = event.traceparent { text(",\"traceparent\":", traceparent, bytes, &line) }
        if let details = event.details {
            line.append(UInt8(ascii: ","))
            line.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[details]))
        }
        line.append(UInt8(ascii: "}"))
    }

    private mutating func middle(_ kind: EventKind, _ app: AppID?) -> [UInt8] {
        guard let app else {
            if without.isEmpty { without = Self.middles("-") }
            return without[Int(kind.rawValue)]
        }
        if app != lastApp {
            last = middles[app] ?? Self.middles(app.name)
            middles[app] = last
            lastApp = app
        }
        return last[Int(kind.rawValue)]
    }

    private static func middles(_ app: String) -> [[UInt8]] {
        var all = Array(repeating: [UInt8](), count: 128)
        for kind in EventKind.allCases {
            all[Int(kind.rawValue)] = Array(
                ",\"family\":\"\(kind.family)\",\"app\":\"\(app)\",\"kind\":\"\(kind.name)\"".utf8)
        }
        return all
    }

    private func number(_ key: StaticString, _ number: UInt64, _ line: inout [UInt8]) {
        word(key, &line)
        DecimalText.append(number, to: &line)
    }

    private func text(
        _ key: StaticString, _ range: Range<Int>, _ bytes: UnsafeRawBufferPointer, _ line: inout [UInt8]
    ) {
        word(key, &line)
        let text = UnsafeRawBufferPointer(rebasing: bytes[range])
        if text.allSatisfy({ $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }) {
            line.append(UInt8(ascii: "\""))
            line.append(contentsOf: text)
            line.append(UInt8(ascii: "\""))
        } else {
            JSONText.appendQuoted(String(decoding: text, as: UTF8.self), to: &line)
        }
    }

    private func word(_ word: StaticString, _ line: inout [UInt8]) {
        line.append(contentsOf: UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
    }
}
