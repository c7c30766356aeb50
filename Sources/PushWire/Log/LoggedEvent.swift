package import PushModel

/// An event as it lies in a segment: numbers taken out, texts pointed to. Valid together with the segment's bytes.
package struct LoggedEvent: Sendable {
    package let seq: UInt64
    /// The number of the event before it in its topic, 0 for the first.
    package let prev: UInt64
    /// Milliseconds since 1970.
    package let time: Int64
    package let kind: EventKind
    /// Place in the list of apps that the walk hands out with it; nil for none.
    package let app: Int?
    package internal(set) var messageID: Range<Int>?
    package internal(set) var device: DeviceID?
    package internal(set) var apnsID: APNSID?
    package internal(set) var attempt: UInt64?
    package internal(set) var status: UInt64?
    package internal(set) var reason: Range<Int>?
    package internal(set) var latency: UInt64?
    package internal(set) var traceparent: Range<Int>?
    package internal(set) var details: Range<Int>?
}

package struct DamagedSegment: Error, Sendable, Equatable, CustomStringConvertible {
    package let first: UInt64

    package var description: String {
        "the part of the event log that begins with number \(first) is damaged; restore the ledger from a backup, or "
            + "let the retention remove it"
    }
}

extension LogSegment {
    /// Walks through the events in order, from the first numbered above `since`, until `visit` says false. It gets the
    /// event, the names of the apps that have come so far, and the bytes that the event points into.
    package func walk(
        since: UInt64 = 0, _ visit: (LoggedEvent, [AppID], UnsafeRawBufferPointer) -> Bool
    ) throws(DamagedSegment) {
        let isWhole = bytes.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            var apps: [AppID] = []
            var messageID: Range<Int>?
            var traceparent: Range<Int>?
            for index in 0..<count {
                guard
                    let event = reader.event(
                        first + UInt64(index), base: time, &apps, &messageID, &traceparent, in: bytes)
                else { return false }
                if event.seq > since, !visit(event, apps, bytes) { return true }
            }
            return reader.isAtEnd
        }
        if !isWhole { throw DamagedSegment(first: first) }
    }
}

extension ByteReader {
    fileprivate mutating func event(
        _ seq: UInt64, base: Int64, _ apps: inout [AppID], _ messageID: inout Range<Int>?,
        _ traceparent: inout Range<Int>?, in bytes: UnsafeRawBufferPointer
    ) -> LoggedEvent? {
        guard let kind = EventKind(rawValue: byte()) else { return nil }
        let fields = UInt16(byte()) | UInt16(byte()) << 8
        let place = Int(truncatingIfNeeded: varint() & 0xffff_ffff)
        if place == apps.count + 1 {
            guard let app = AppID(text()) else { return nil }
            apps.append(app)
        }
        guard place <= apps.count else { return nil }
        let back = varint()
        guard back <= seq else { return nil }
        var event = LoggedEvent(
            seq: seq, prev: back == 0 ? 0 : seq - back, time: base &+ signed(), kind: kind,
            app: place == 0 ? nil : place - 1)
        if fields & LogField.messageID != 0 {
            messageID = range()
            traceparent = nil
        }
        if fields & (LogField.messageID | LogField.sameMessage) != 0 { event.messageID = messageID }
        if fields & LogField.device != 0 { event.device = DeviceID(high: word(), low: word()) }
        if fields & LogField.apnsID != 0 { event.apnsID = APNSID(high: word(), low: word()) }
        if fields & LogField.attempt != 0 { event.attempt = varint() }
        if fields & LogField.status != 0 { event.status = varint() }
        if fields & LogField.reason != 0 { event.reason = range() }
        if fields & LogField.latency != 0 { event.latency = varint() }
        if fields & LogField.traceparent != 0 { traceparent = range() }
        if fields & (LogField.traceparent | LogField.sameTraceparent) != 0 { event.traceparent = traceparent }
        if fields & LogField.details != 0 { event.details = range() }
        return isBroken ? nil : event
    }
}
