package import PushModel
import PushTime

/// A writer of events as the JSON lines that subscribers read. It caches the members that events of one topic share.
package struct EventText: Sendable {
    /// For each app, by kind: `,"family":…,"app":…,"kind":…`.
    private var members: [AppID: [[UInt8]]] = [:]
    private var membersWithoutApp: [[UInt8]] = []
    private var lastApp: AppID?
    private var membersOfLastApp: [[UInt8]] = []

    package init() {}

    /// Appends one JSON object without a newline. `apps` and `bytes` are those that ``LogSegment/walk(since:_:)``
    /// passed.
    package mutating func append(
        _ event: LoggedEvent, of apps: [AppID], texts bytes: UnsafeRawBufferPointer, to line: inout [UInt8]
    ) {
        prepareMembers(ofApp: event.app.map { apps[$0] })
        unsafe (event.app == nil ? membersWithoutApp : membersOfLastApp)[Int(event.kind.rawValue)].withUnsafeBytes {
            members in
            let room = Self.room(for: event) + members.count
            line.append(addingCapacity: room) { span in
                unsafe span.withUnsafeMutableBufferPointer { buffer, count in
                    var pen = unsafe Pen(at: UnsafeMutableRawPointer(buffer.baseAddress!))
                    unsafe pen.write(event, members: members, texts: bytes)
                    count = unsafe pen.at - UnsafeMutableRawPointer(buffer.baseAddress!)
                }
            }
        }
    }

    /// The largest length of the line: six bytes for each character that may need escaping, and 512 for everything that
    /// is not text.
    private static func room(for event: LoggedEvent) -> Int {
        512 + 6 * ((event.messageID?.count ?? 0) + (event.reason?.count ?? 0) + (event.traceparent?.count ?? 0))
            + (event.details?.count ?? 0)
    }

    private mutating func prepareMembers(ofApp app: AppID?) {
        guard let app else {
            if membersWithoutApp.isEmpty { membersWithoutApp = Self.members(ofApp: "-") }
            return
        }
        if app != lastApp {
            membersOfLastApp = members[app] ?? Self.members(ofApp: app.name)
            members[app] = membersOfLastApp
            lastApp = app
        }
    }

    private static func members(ofApp app: String) -> [[UInt8]] {
        var all = Array(repeating: [UInt8](), count: 256)
        for kind in EventKind.allCases {
            all[Int(kind.rawValue)] = Array(
                ",\"family\":\"\(kind.family)\",\"app\":\"\(app)\",\"kind\":\"\(kind.name)\"".utf8)
        }
        return all
    }
}

/// A writer into memory that has ``EventText/room(for:)`` for the whole line, which bounds everything that it writes.
@safe
private struct Pen {
    private(set) var at: UnsafeMutableRawPointer

    init(at start: UnsafeMutableRawPointer) {
        unsafe at = start
    }

    mutating func write(_ event: LoggedEvent, members: UnsafeRawBufferPointer, texts bytes: UnsafeRawBufferPointer) {
        let shown = EventNumber.shown(event.seq)
        word("{\"v\":1,\"seq\":")
        number(shown.number)
        word(",\"prev\":")
        if shown.part == 0 {
            number(event.prev)
        } else {
            // The previous event of the topic is in the same part.
            number(EventNumber.within(event.prev))
            word(",\"part\":")
            number(UInt64(shown.part))
        }
        word(",\"ts\":")
        time(event.time)
        unsafe copy(members)
        unsafe subject(of: event, texts: bytes)
        unsafe outcome(of: event, texts: bytes)
        if event.erases { word(",\"erased\":true") }
        if let details = event.details {
            byte(UInt8(ascii: ","))
            unsafe copy(UnsafeRawBufferPointer(rebasing: bytes[details]))
        }
        byte(UInt8(ascii: "}"))
    }

    @inline(__always)
    private mutating func subject(of event: LoggedEvent, texts bytes: UnsafeRawBufferPointer) {
        if let id = event.messageID {
            word(",\"message_id\":\"")
            unsafe text(bytes[id])
        }
        if let device = event.device {
            word(",\"device\":\"")
            unsafe device.write(into: at)
            unsafe at += DeviceID.textLength
            byte(UInt8(ascii: "\""))
        }
        if let id = event.deliveryID {
            word(",\"apns_id\":\"")
            unsafe id.write(into: at)
            unsafe at += DeliveryID.textLength
            byte(UInt8(ascii: "\""))
        }
    }

    @inline(__always)
    private mutating func outcome(of event: LoggedEvent, texts bytes: UnsafeRawBufferPointer) {
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
            unsafe text(bytes[reason])
        }
        if let latency = event.latency {
            word(",\"latency_ms\":")
            number(latency)
        }
        if let traceparent = event.traceparent {
            word(",\"traceparent\":\"")
            unsafe text(bytes[traceparent])
        }
        if let evidence = event.evidence {
            word(",\"time\":")
            time(evidence)
        }
    }

    @inline(__always)
    private mutating func byte(_ byte: UInt8) {
        unsafe at.storeBytes(of: byte, as: UInt8.self)
        unsafe at += 1
    }

    @inline(__always)
    private mutating func word(_ word: StaticString) {
        unsafe at.copyMemory(from: word.utf8Start, byteCount: word.utf8CodeUnitCount)
        unsafe at += word.utf8CodeUnitCount
    }

    @inline(__always)
    private mutating func number(_ number: UInt64) {
        unsafe at += DecimalText.write(number, into: at)
    }

    private mutating func time(_ time: WallTime) {
        if time.milliseconds < 0 { byte(UInt8(ascii: "-")) }
        number(time.milliseconds.magnitude)
    }

    private mutating func copy(_ bytes: UnsafeRawBufferPointer) {
        guard let from = bytes.baseAddress else { return }
        unsafe at.copyMemory(from: from, byteCount: bytes.count)
        unsafe at += bytes.count
    }

    /// Writes the content of a string and the closing quotation mark.
    private mutating func text(_ slice: Slice<UnsafeRawBufferPointer>) {
        let bytes = unsafe UnsafeRawBufferPointer(rebasing: slice)
        var isSpecial = false
        // The loop has no early exit, so that the compiler can vectorize it.
        for offset in 0..<bytes.count {
            let byte = unsafe bytes[offset]
            let special = byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
            isSpecial = isSpecial || special
        }
        if isSpecial {
            var quoted: [UInt8] = []
            unsafe JSONText.appendQuoted(String(decoding: bytes, as: UTF8.self), to: &quoted)
            unsafe quoted.withUnsafeBytes { unsafe copy(UnsafeRawBufferPointer(rebasing: $0[1...])) }
        } else {
            unsafe copy(bytes)
            byte(UInt8(ascii: "\""))
        }
    }
}
