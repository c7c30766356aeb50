package import PushModel
package import PushTime

/// An event of a log together with its texts, so that it can be written into another log.
package struct EventCopy: Sendable {
    /// The number in the log from which it was read.
    package let number: UInt64
    package let time: WallTime
    package let kind: EventKind
    package let app: AppID?
    package let messageID: [UInt8]?
    package let device: DeviceID?
    package let deliveryID: DeliveryID?
    let attempt: UInt64?
    let status: UInt64?
    let reason: [UInt8]?
    let latency: UInt64?
    let traceparent: [UInt8]?
    var details: [UInt8]?
    let evidence: WallTime?
    let erases: Bool

    /// Copies an event that ``LogSegment/walk(since:_:)`` passes, with its apps and its bytes.
    @unsafe
    package init(_ event: LoggedEvent, apps: [AppID], bytes: UnsafeRawBufferPointer) {
        func copy(_ range: Range<Int>?) -> [UInt8]? { range.map { unsafe Array(bytes[$0]) } }
        number = event.seq
        time = event.time
        kind = event.kind
        app = event.app.map { apps[$0] }
        messageID = copy(event.messageID)
        device = event.device
        deliveryID = event.deliveryID
        attempt = event.attempt
        status = event.status
        reason = copy(event.reason)
        latency = event.latency
        traceparent = copy(event.traceparent)
        details = copy(event.details)
        evidence = event.evidence
        erases = event.erases
    }

    private static let reference = Array("\"accepted_seq\":".utf8)

    /// Replaces the number of an accepted message to which the details refer. Without a new number, the reference is
    /// removed.
    package mutating func renumber(_ new: (_ number: UInt64) -> UInt64?) {
        guard let details, kind == .messageRejected || kind == .messageDuplicate else { return }
        guard let start = details.firstIndex(of: Self.reference) else { return }
        var end = start + Self.reference.count
        var number: UInt64 = 0
        while end < details.count, (48...57).contains(details[end]) {
            number = number &* 10 &+ UInt64(details[end] - 48)
            end += 1
        }
        if let new = new(number) {
            let text = Self.reference + Array("\(EventNumber.shown(new).number)".utf8)
            return self.details = Array(details[..<start]) + text + Array(details[end...])
        }
        // A comma separates the member from the next one, or from the one before.
        let before = details[..<start].last == UInt8(ascii: ",") ? start - 1 : start
        let after = before == start && end < details.count ? end + 1 : end
        let rest = Array(details[..<before]) + Array(details[after...])
        self.details = rest.isEmpty ? nil : rest
    }
}

extension [UInt8] {
    fileprivate func firstIndex(of part: [UInt8]) -> Int? {
        guard count >= part.count else { return nil }
        return (0...(count - part.count)).first { self[$0...].starts(with: part) }
    }
}
