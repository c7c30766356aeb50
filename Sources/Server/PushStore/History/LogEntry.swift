package import PushModel
package import PushWire

/// An event of the log with the texts that it refers to. It is valid while ``PushWire/LogSegment/entries(since:_:)``
/// visits it, and cannot be copied out of the visit.
@safe package struct LogEntry: ~Copyable {
    package let event: LoggedEvent
    private let apps: [AppID]
    private let bytes: UnsafeRawBufferPointer

    fileprivate init(_ event: LoggedEvent, apps: [AppID], bytes: UnsafeRawBufferPointer) {
        self.event = event
        self.apps = apps
        unsafe self.bytes = unsafe bytes
    }

    package var app: AppID? { event.app.map { apps[$0] } }
    package var messageID: String? { text(event.messageID) }
    package var reason: String? { text(event.reason) }

    /// The members that only events of this kind have; nil if there are none, or none that can be parsed.
    package var details: EventDetails? {
        guard let range = event.details else { return nil }
        let text = unsafe [UInt8(ascii: "{")] + Array(bytes[range]) + [UInt8(ascii: "}")]
        return (try? JSONDocument(text, depthLimit: EventDetails.depthLimit)).map { EventDetails($0) }
    }

    /// The deactivation of a device that the event records; nil for other events.
    var deactivation: Deactivation? { unsafe event.deactivation(apps: apps, bytes: bytes) }

    /// Returns whether the event concerns the message whose id has these bytes.
    package func concerns(_ messageID: [UInt8]) -> Bool {
        guard let range = event.messageID else { return false }
        return unsafe bytes[range].elementsEqual(messageID)
    }

    /// The hash of the message id; nil if the event has none.
    var messageHash: UInt32? {
        event.messageID.map { unsafe TraceRun.hash(UnsafeRawBufferPointer(rebasing: bytes[$0])) }
    }

    /// Returns false if the details certainly do not contain a text with these bytes.
    func mayMention(_ text: [UInt8]) -> Bool {
        guard let range = event.details else { return false }
        // In JSON, other texts may be written in several ways.
        let isPlain = text.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != 0x22 && $0 != 0x2f && $0 != 0x5c }
        guard isPlain, let first = text.first else { return true }
        let details = unsafe UnsafeRawBufferPointer(rebasing: bytes[range])
        guard details.count >= text.count else { return false }
        for start in 0...details.count - text.count where unsafe details[start] == first {
            if unsafe details[start..<start + text.count].elementsEqual(text) { return true }
        }
        return false
    }

    /// Returns the event as the line that monitors read.
    package func line(_ text: inout EventText) -> [UInt8] {
        var line: [UInt8] = []
        unsafe text.append(event, of: apps, texts: bytes, to: &line)
        return line
    }

    private func text(_ range: Range<Int>?) -> String? {
        guard let range else { return nil }
        return unsafe String(decoding: bytes[range], as: UTF8.self)
    }
}

extension LogSegment {
    /// Visits the events numbered above `since` in order, until `visit` returns false.
    ///
    /// - Throws: before the first visit, if the segment is damaged.
    package func entries(
        since: UInt64 = 0, _ visit: (borrowing LogEntry) -> Bool
    ) throws(DamagedSegment) {
        try unsafe walk(since: since) { event, apps, bytes in
            unsafe visit(LogEntry(event, apps: apps, bytes: bytes))
        }
    }

    /// Does the same, and returns false if the segment is damaged.
    package func couldBeRead(since: UInt64 = 0, _ visit: (borrowing LogEntry) -> Bool) -> Bool {
        do {
            try entries(since: since, visit)
            return true
        } catch {
            return false
        }
    }
}
