/// The format of an event in a segment of the ledger.
///
///     kind u8, fields u16, app, prev, time, then the fields in the order of their bits
///
/// `app` is 0 for none, or else the index in the segment's list of apps plus one; an index one past the end is followed
/// by the name of a new app. `prev` is the distance in numbers to the previous event of the topic, 0 for none. `time`
/// is relative to the segment's time and signed. The number is not stored, since events of a segment have consecutive
/// numbers. The last event is followed by a checksum of four bytes, little-endian, of everything before it and of the
/// segment's number, count and time.
enum LogField {
    static let messageID: UInt16 = 1 << 0
    /// The message id of the previous record.
    static let sameMessage: UInt16 = 1 << 1
    static let device: UInt16 = 1 << 2
    static let deliveryID: UInt16 = 1 << 3
    static let attempt: UInt16 = 1 << 4
    static let status: UInt16 = 1 << 5
    static let reason: UInt16 = 1 << 6
    static let latency: UInt16 = 1 << 7
    static let traceparent: UInt16 = 1 << 8
    static let sameTraceparent: UInt16 = 1 << 9
    /// Members of the JSON object, as JSON text.
    static let details: UInt16 = 1 << 10
    /// When the device was known to be gone, relative to the event's time and signed. Logs of early versions have
    /// a member `time` in the details instead.
    static let evidence: UInt16 = 1 << 11
    /// The registry erases the device. Logs of early versions have a member `erased` in the details instead.
    static let erases: UInt16 = 1 << 12
    static let all: UInt16 = 1 << 13 - 1
}
