/// How an event lies in a segment of the ledger.
///
///     kind u8, fields u16, app, prev, time, then the fields in the order of their bits
///
/// `app`: 0 for none, else its place in the segment's list of apps plus one; one past the end adds the name that follows.
/// `prev`: how far back in numbers the event before it in its topic is, 0 for none. `time`: since the segment's, signed.
/// The number is not there: events of a segment have consecutive ones. Behind the last event stands a checksum of four
/// bytes, little-endian, of everything before it and of the segment's number, count and time.
enum LogField {
    static let messageID: UInt16 = 1 << 0
    /// The same as that of the record before it.
    static let sameMessage: UInt16 = 1 << 1
    static let device: UInt16 = 1 << 2
    static let apnsID: UInt16 = 1 << 3
    static let attempt: UInt16 = 1 << 4
    static let status: UInt16 = 1 << 5
    static let reason: UInt16 = 1 << 6
    static let latency: UInt16 = 1 << 7
    static let traceparent: UInt16 = 1 << 8
    static let sameTraceparent: UInt16 = 1 << 9
    /// Members of the JSON object, as they stand there.
    static let details: UInt16 = 1 << 10
    static let all: UInt16 = 1 << 11 - 1
}
