package import PushModel
package import PushTime

/// An event in a segment: its numbers, and the ranges of its texts in the segment's bytes, without which it has no
/// meaning.
package struct LoggedEvent: Sendable {
    package internal(set) var seq: UInt64
    /// The number of the previous event of the topic, 0 for the first.
    package internal(set) var prev: UInt64
    package internal(set) var time: WallTime
    package internal(set) var kind: EventKind
    /// The index in the list of apps that ``LogSegment/walk(since:_:)`` passes with the event; nil for none.
    package internal(set) var app: Int?
    package internal(set) var messageID: Range<Int>?
    package internal(set) var device: DeviceID?
    package internal(set) var deliveryID: DeliveryID?
    package internal(set) var attempt: UInt64?
    package internal(set) var status: UInt64?
    package internal(set) var reason: Range<Int>?
    package internal(set) var latency: UInt64?
    package internal(set) var traceparent: Range<Int>?
    package internal(set) var details: Range<Int>?
    /// When the device of a deactivation was known to be gone; nil also in old logs (``deactivation(apps:bytes:)``).
    package internal(set) var evidence: WallTime?
    package internal(set) var erases = false

    /// Removes what the fields of an event say, but for its number, its time and its topic.
    fileprivate mutating func clear() {
        (messageID, device, deliveryID, attempt, status) = (nil, nil, nil, nil, nil)
        (reason, latency, traceparent, details, evidence) = (nil, nil, nil, nil, nil)
        erases = false
    }
}

package struct DamagedSegment: Error, Sendable, Equatable, CustomStringConvertible {
    package let first: UInt64

    package var description: String {
        "the event log segment that starts at number \(EventNumber.text(first)) is damaged; restore the ledger from a backup, or "
            + "wait until the retention removes it"
    }
}

extension LogSegment {
    /// Calls `visit` for the events in order, from the first numbered above `since`, until it returns false. `visit`
    /// gets the event, the apps found so far, and the bytes to which the event's ranges refer.
    ///
    /// - Throws: ``DamagedSegment`` before the first event if any part of the segment differs from what was written.
    package func walk(
        since: UInt64 = 0, visit: (LoggedEvent, [AppID], UnsafeRawBufferPointer) -> Bool
    ) throws(DamagedSegment) {
        let isWhole = unsafe bytes.withUnsafeBytes { whole in
            guard let bytes = unsafe checked(whole) else { return false }
            var reader = unsafe ByteReader(bytes)
            var state = LogReading()
            // An event is large. It is read where it is, and not passed from call to call.
            var event = LoggedEvent(seq: first, prev: 0, time: time, kind: .messageAccepted, app: nil)
            for index in 0..<UInt64(count) {
                guard reader.read(&event, number: first + index, base: time, state: &state) else { return false }
                if event.seq > since, unsafe !visit(event, state.apps, bytes) { return true }
            }
            return reader.isAtEnd
        }
        if !isWhole { throw DamagedSegment(first: first) }
    }

    /// Returns the bytes of the events if they and the numbers beside them match the checksum.
    private func checked(_ whole: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        let length = whole.count - LogChecksum.length
        // The check bounds the count of invalid input. A valid event takes at least six bytes.
        guard length >= 0, 0...length ~= count, first <= UInt64.max - UInt64(count) else { return nil }
        let bytes = unsafe UnsafeRawBufferPointer(rebasing: whole[..<length])
        let written = unsafe UInt32(littleEndian: whole.loadUnaligned(fromByteOffset: length, as: UInt32.self))
        return unsafe written == LogChecksum.of(bytes, first: first, count: count, time: time) ? bytes : nil
    }
}

/// The values to which an event of a segment may refer back.
private struct LogReading {
    var apps: [AppID] = []
    var messageID: Range<Int>?
    var traceparent: Range<Int>?
}

extension ByteReader {
    /// Reads the next event into `event`. Returns false if it is damaged.
    fileprivate mutating func read(
        _ event: inout LoggedEvent, number seq: UInt64, base: WallTime, state: inout LogReading
    ) -> Bool {
        guard let kind = EventKind(rawValue: byte()) else { return false }
        let fields = UInt16(byte()) | UInt16(byte()) << 8
        let appNumber = varint()
        if appNumber == UInt64(state.apps.count) + 1 {
            guard let app = AppID(text()) else { return false }
            state.apps.append(app)
        }
        let back = varint()
        guard fields & ~LogField.all == 0, appNumber <= UInt64(state.apps.count), back < max(seq, 1) else {
            return false
        }
        event.clear()
        event.seq = seq
        event.prev = back == 0 ? 0 : seq - back
        event.time = base.wrapping(by: signed())
        event.kind = kind
        event.app = appNumber == 0 ? nil : Int(appNumber) - 1
        if fields & LogField.messageID != 0 {
            state.messageID = range()
            state.traceparent = nil
        }
        if fields & (LogField.messageID | LogField.sameMessage) != 0 {
            guard let messageID = state.messageID else { return false }
            event.messageID = messageID
        }
        if fields & LogField.device != 0 { event.device = DeviceID(high: word(), low: word()) }
        if fields & LogField.deliveryID != 0 { event.deliveryID = DeliveryID(high: word(), low: word()) }
        if fields & LogField.attempt != 0 { event.attempt = varint() }
        if fields & LogField.status != 0 { event.status = varint() }
        if fields & LogField.reason != 0 { event.reason = range() }
        if fields & LogField.latency != 0 { event.latency = varint() }
        if fields & LogField.traceparent != 0 { state.traceparent = range() }
        if fields & (LogField.traceparent | LogField.sameTraceparent) != 0 {
            guard let traceparent = state.traceparent else { return false }
            event.traceparent = traceparent
        }
        if fields & LogField.details != 0 { event.details = range() }
        if fields & LogField.evidence != 0 { event.evidence = event.time.wrapping(by: signed()) }
        event.erases = fields & LogField.erases != 0
        return !isBroken
    }
}

extension WallTime {
    /// Returns a time at a distance in milliseconds. A damaged distance wraps around, as it did when it was written.
    fileprivate func wrapping(by distance: Int64) -> WallTime {
        WallTime(milliseconds: milliseconds &+ distance)
    }
}
