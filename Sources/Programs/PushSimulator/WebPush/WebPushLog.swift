/// One request to the simulated push service, with its answer.
package struct WebPushRecord: Sendable {
    package var number: UInt64 = 0
    /// Milliseconds since 1970.
    package var at: Int64 = 0
    package var connection: UInt32 = 0
    package var stream: Int32 = 0
    /// The id of the subscription; empty if the path has none.
    package var subscription: [UInt8] = []
    package var status: UInt16 = 0
    /// Why the request was refused.
    package var refusal: String?
    package var errorNumber: Int?
    /// The name of a message that was taken, which is the end of its `Location`.
    package var message: String?
    package var ttl: Int64?
    package var urgency: String?
    package var topic: String?
    package var bodyCount = 0
    /// The decrypted message; nil if there is none.
    package var text: [UInt8]?
    package var warnings: [String] = []
    package var isFault = false
    package var isUnanswered = false
    package var isUnprocessed = false
    /// The number of the message with the same topic that this one replaces.
    package var replaces: UInt64?
    package var replacedBy: UInt64?

    package init() {}

    /// Whether the browser gets the message, even if the sender did not receive the answer.
    package var isAccepted: Bool { status / 100 == 2 && !isUnprocessed }
}

/// The last requests to the simulated push service, and the totals since the start.
struct WebPushLog {
    static let maxCount = 200_000
    static let maxBytes = 64 << 20

    private var records: [WebPushRecord] = []
    /// The position of the oldest record; those before it are forgotten and removed later, many at once.
    private var first = 0
    private var bytes = 0
    private(set) var newest: UInt64 = 0
    private(set) var total: UInt64 = 0
    /// The last message by subscription and topic.
    private var topics: [String: UInt64] = [:]
    /// The number of answers by status.
    private(set) var counts: [UInt16: UInt64] = [:]

    var kept: ArraySlice<WebPushRecord> { records[first...] }

    private func index(_ number: UInt64) -> Int? {
        guard number <= newest, newest - number < UInt64(records.count - first) else { return nil }
        return records.count - 1 - Int(newest - number)
    }

    subscript(number: UInt64) -> WebPushRecord? { index(number).map { records[$0] } }

    /// Adds a record and returns its number.
    mutating func append(_ record: WebPushRecord) -> UInt64 {
        var record = record
        record.number = newest + 1
        total += 1
        counts[record.status, default: 0] += 1
        if record.isAccepted, let key = Self.key(of: record) {
            if let earlier = topics[key], let place = index(earlier), records[place].isAccepted {
                record.replaces = earlier
                records[place].replacedBy = record.number
            }
            topics[key] = record.number
        }
        bytes += record.text?.count ?? 0
        records.append(record)
        newest += 1
        while records.count - first > Self.maxCount || bytes > Self.maxBytes { forgetOldest() }
        if first > 1000, first > records.count / 2 {
            records.removeFirst(first)
            first = 0
        }
        return newest
    }

    private static func key(of record: WebPushRecord) -> String? {
        record.topic.map { Hex.text(record.subscription) + "/" + $0 }
    }

    private mutating func forgetOldest() {
        let record = records[first]
        bytes -= record.text?.count ?? 0
        records[first].text = nil
        if let key = Self.key(of: record), topics[key] == record.number { topics[key] = nil }
        first += 1
    }

    mutating func markUnanswered(_ number: UInt64) {
        if let index = index(number) { records[index].isUnanswered = true }
    }

    /// Marks a request whose stream was above the last one of a GOAWAY frame.
    mutating func markUnprocessed(_ number: UInt64) {
        guard let place = index(number), !records[place].isUnprocessed else { return }
        records[place].isUnprocessed = true
        guard let key = Self.key(of: records[place]), topics[key] == number else { return }
        topics[key] = records[place].replaces
        if let earlier = records[place].replaces, let place = index(earlier) { records[place].replacedBy = nil }
    }

    /// Deletes all records and counts. The numbering continues.
    mutating func removeAll() {
        let last = newest
        self = WebPushLog()
        newest = last
    }
}
