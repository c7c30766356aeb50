package import PushModel

/// A writer of events as the JSON lines that subscribers read. It caches the members that events of one topic share.
package struct EventText: Sendable {
    /// For each app, by kind: `,"family":…,"app":…,"kind":…`.
    private var middles: [AppID: [[UInt8]]] = [:]
    private var without: [[UInt8]] = []
    private var lastApp: AppID?
    private var last: [[UInt8]] = []

    package init() {}

    /// Appends one JSON object without a newline. `apps` and `bytes` are those that ``LogSegment/walk(since:_:)``
    /// passed.
    package mutating func append(
        _ event: LoggedEvent, _ apps: [AppID], _ bytes: UnsafeRawBufferPointer, to line: inout [UInt8]
    ) {
        prepare(event.app.map { apps[$0] })
        (event.app == nil ? without : last)[Int(event.kind.rawValue)].withUnsafeBytes { middle in
            let room = Self.room(for: event, bytes) + middle.count
            line.append(addingCapacity: room) { span in
                span.withUnsafeMutableBufferPointer { buffer, count in
                    var pen = Pen(at: UnsafeMutableRawPointer(buffer.baseAddress!))
                    pen.write(event, middle, bytes)
                    count = pen.at - UnsafeMutableRawPointer(buffer.baseAddress!)
                }
            }
        }
    }

    /// The largest length of the line: six bytes for each character that may need escaping, and 512 for everything that
    /// is not text.
    private static func room(for event: LoggedEvent, _ bytes: UnsafeRawBufferPointer) -> Int {
        512 + 6 * ((event.messageID?.count ?? 0) + (event.reason?.count ?? 0) + (event.traceparent?.count ?? 0))
            + (event.details?.count ?? 0)
    }

    private mutating func prepare(_ app: AppID?) {
        guard let app else {
            if without.isEmpty { without = Self.middles("-") }
            return
        }
        if app != lastApp {
            last = middles[app] ?? Self.middles(app.name)
            middles[app] = last
            lastApp = app
        }
    }

    private static func middles(_ app: String) -> [[UInt8]] {
        var all = Array(repeating: [UInt8](), count: 128)
        for kind in EventKind.allCases {
            all[Int(kind.rawValue)] = Array(
                ",\"family\":\"\(kind.family)\",\"app\":\"\(app)\",\"kind\":\"\(kind.name)\"".utf8)
        }
        return all
    }
}

/// A writer into memory that has room for the whole line.
private struct Pen {
    var at: UnsafeMutableRawPointer

    mutating func write(_ event: LoggedEvent, _ middle: UnsafeRawBufferPointer, _ bytes: UnsafeRawBufferPointer) {
        word("{\"v\":1,\"seq\":")
        number(event.seq)
        word(",\"prev\":")
        number(event.prev)
        word(",\"ts\":")
        if event.time < 0 { byte(UInt8(ascii: "-")) }
        number(event.time.magnitude)
        copy(middle)
        if let id = event.messageID {
            word(",\"message_id\":\"")
            text(bytes[id])
        }
        if let device = event.device {
            word(",\"device\":\"")
            device.write(into: at)
            at += DeviceID.textLength
            byte(UInt8(ascii: "\""))
        }
        if let id = event.apnsID {
            word(",\"apns_id\":\"")
            id.write(into: at)
            at += APNSID.textLength
            byte(UInt8(ascii: "\""))
        }
        if let attempt = event.attempt {
            word(",\"attempt\":")
            number(attempt)
        }
        if let status = event.status {
            word(",\"status\":")
            number(status)
        }
        if let reason = event.reason {
            word(",\"reason\":\"")
            text(bytes[reason])
        }
        if let latency = event.latency {
            word(",\"latency_ms\":")
            number(latency)
        }
        if let traceparent = event.traceparent {
            word(",\"traceparent\":\"")
            text(bytes[traceparent])
        }
        if let details = event.details {
            byte(UInt8(ascii: ","))
            copy(UnsafeRawBufferPointer(rebasing: bytes[details]))
        }
        byte(UInt8(ascii: "}"))
    }

    @inline(__always)
    private mutating func byte(_ byte: UInt8) {
        at.storeBytes(of: byte, as: UInt8.self)
        at += 1
    }

    @inline(__always)
    private mutating func word(_ word: StaticString) {
        at.copyMemory(from: word.utf8Start, byteCount: word.utf8CodeUnitCount)
        at += word.utf8CodeUnitCount
    }

    @inline(__always)
    private mutating func number(_ number: UInt64) {
        at += DecimalText.write(number, into: at)
    }

    private mutating func copy(_ bytes: UnsafeRawBufferPointer) {
        guard let from = bytes.baseAddress else { return }
        at.copyMemory(from: from, byteCount: bytes.count)
        at += bytes.count
    }

    /// Writes the content of a string and the closing quotation mark.
    private mutating func text(_ slice: Slice<UnsafeRawBufferPointer>) {
        let bytes = UnsafeRawBufferPointer(rebasing: slice)
        var isSpecial = false
        // The loop has no early exit, so that the compiler can vectorize it.
        for byte in bytes {
            let special = byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
            isSpecial = isSpecial || special
        }
        if isSpecial {
            var quoted: [UInt8] = []
            JSONText.appendQuoted(String(decoding: bytes, as: UTF8.self), to: &quoted)
            quoted.withUnsafeBytes { copy(UnsafeRawBufferPointer(rebasing: $0[1...])) }
        } else {
            copy(bytes)
            byte(UInt8(ascii: "\""))
        }
    }
}
