package import PushLoop

/// The requests that the simulator received: the last records, the totals since the start, and the duplicate ids.
package struct ReceivedLog: ~Copyable {
    package struct Occurrence: Equatable, Sendable {
        package var record: UInt64
        package var at: WallTime
        package var token: [UInt8]
        package var status: UInt16
        package var isAccepted: Bool
    }

    struct Duplicate {
        var id: MessageID
        var occurrences: [Occurrence]
        /// The number of occurrences that are not kept.
        var more = 0
        var accepted: Int { occurrences.count { $0.isAccepted } }
    }

    private static let maxDuplicates = 10_000
    private static let maxOccurrences = 16

    private(set) var ring: RecordRing
    private var retained: RetainedBytes
    private var ids: IdentifierSet
    private var duplicatesByID: [MessageID: Int] = [:]
    private(set) var duplicates: [Duplicate] = []

    /// The number of requests per reason. Answers of fault scripts are counted by status and reason in `otherCounts`.
    private var counts: InlineArray<64, UInt64>
    private var otherCounts: [UInt32: UInt64] = [:]
    package private(set) var total: UInt64 = 0
    private(set) var acceptedTotal: UInt64 = 0
    /// The number of requests whose id was received before, and how many of them were accepted again.
    private(set) var duplicateTotal: UInt64 = 0
    private(set) var acceptedDuplicateTotal: UInt64 = 0
    private(set) var unansweredTotal: UInt64 = 0
    private(set) var unprocessedTotal: UInt64 = 0

    package init(records: Int, retainedBytes: Int) {
        ring = RecordRing(capacity: max(records, 1))
        retained = RetainedBytes(capacity: max(retainedBytes, 0))
        ids = IdentifierSet(maxCount: max(records, 1))
        counts = InlineArray(repeating: 0)
    }

    /// Adds a record and returns its number. `token` is the whole token; the bytes that do not fit into the record are
    /// retained with the label and the payload.
    @inline(__always)
    mutating func append(_ record: Record, token: ByteView, label: ByteView?, payload: ByteView) -> UInt64 {
        var record = record
        if ring.isFull { forgetOldest() }
        let long = token.count > Record.inlineToken ? token.dropFirst(Record.inlineToken) : token.prefix(0)
        let labelCount = label?.count ?? 0
        let room = long.count + labelCount + payload.count
        record.extra = retained.end
        if room <= retained.capacity, labelCount <= 255 {
            retained.append(long)
            if let label {
                retained.append(label)
                record.labelLength = UInt8(labelCount)
            }
            retained.append(payload)
        } else {
            record.extra = UInt64.max
        }
        count(record, by: 1)
        if !record.flags.contains(.hasOwnID) { return ring.append(record) }

        let number = ring.newest + 1
        let mark = IdentifierSet.Mark(record: number, isAccepted: record.isAccepted)
        if let previous = ids.set(mark, for: record.id) {
            noteDuplicate(&record, number: number, previous: previous, token: token.copied())
        }
        return ring.append(record)
    }

    private mutating func forgetOldest() {
        let record = ring[ring.oldest]
        if record.flags.contains(.hasOwnID) { ids.remove(record.id, record: ring.oldest) }
    }

    private mutating func noteDuplicate(
        _ record: inout Record, number: UInt64, previous: IdentifierSet.Mark, token: [UInt8]
    ) {
        record.flags.insert(.isDuplicate)
        duplicateTotal += 1
        if previous.isAccepted {
            if record.isAccepted {
                record.flags.insert(.isAcceptedAgain)
                acceptedDuplicateTotal += 1
            }
            // The id stays marked as accepted, regardless of the result of this request.
            _ = ids.set(IdentifierSet.Mark(record: number, isAccepted: true), for: record.id)
        }
        let occurrence = Occurrence(
            record: number, at: WallTime(milliseconds: record.at), token: token, status: record.status,
            isAccepted: record.isAccepted)
        if let index = duplicatesByID[record.id] {
            if duplicates[index].occurrences.count < Self.maxOccurrences {
                duplicates[index].occurrences.append(occurrence)
            } else {
                duplicates[index].more += 1
            }
            return
        }
        guard duplicates.count < Self.maxDuplicates else { return }
        var occurrences: [Occurrence] = []
        if ring.contains(previous.record) {
            let first = ring[previous.record]
            occurrences.append(
                Occurrence(
                    record: previous.record, at: WallTime(milliseconds: first.at), token: self.token(of: first) ?? [],
                    status: first.status, isAccepted: first.isAccepted))
        }
        duplicatesByID[record.id] = duplicates.count
        duplicates.append(Duplicate(id: record.id, occurrences: occurrences + [occurrence]))
    }

    /// Marks the answer to a request as lost, because the connection was lost or the client canceled the stream. The
    /// request stays processed.
    package mutating func markUnanswered(_ number: UInt64) {
        guard ring.contains(number), !ring[number].flags.contains(.isUnanswered) else { return }
        ring[number].flags.insert(.isUnanswered)
        unansweredTotal += 1
    }

    /// Marks a request as not processed, because its stream was above the last one of a GOAWAY frame.
    package mutating func markUnprocessed(_ number: UInt64) {
        guard ring.contains(number) else { return }
        var record = ring[number]
        guard !record.flags.contains(.isUnprocessed) else { return }
        count(record, by: -1)
        if record.flags.contains(.isAcceptedAgain) {
            record.flags.remove(.isAcceptedAgain)
            acceptedDuplicateTotal -= 1
        } else if record.isAccepted, record.flags.contains(.hasOwnID), ids.mark(of: record.id)?.record == number {
            _ = ids.set(IdentifierSet.Mark(record: number, isAccepted: false), for: record.id)
        }
        if let index = duplicatesByID[record.id],
            let occurrence = duplicates[index].occurrences.firstIndex(where: { $0.record == number })
        {
            duplicates[index].occurrences[occurrence].isAccepted = false
        }
        record.flags.insert(.isUnprocessed)
        count(record, by: 1)
        ring[number] = record
    }

    @inline(__always)
    private mutating func count(_ record: Record, by step: Int64) {
        let step = UInt64(bitPattern: step)
        total &+= step
        if record.flags.contains(.isUnanswered) { unansweredTotal &+= step }
        if record.flags.contains(.isUnprocessed) {
            unprocessedTotal &+= step
            return
        }
        if record.isAccepted { acceptedTotal &+= step }
        if record.status == record.reason.status, record.reason != .custom {
            counts[Int(record.reason.rawValue)] &+= step
        } else {
            let key = UInt32(record.status) << 16 | UInt32(record.reason.rawValue) << 8 | UInt32(record.customReason)
            otherCounts[key, default: 0] &+= step
        }
    }

    /// Calls `body` with the number of answers for each status and reason. `custom` is the index for `Reason.custom`.
    func forEachCount(_ body: (_ status: UInt16, _ reason: Reason, _ custom: UInt8, _ count: UInt64) -> Void) {
        for reason in Reason.allCases where counts[Int(reason.rawValue)] > 0 {
            body(reason.status, reason, 0, counts[Int(reason.rawValue)])
        }
        for (key, count) in otherCounts.sorted(by: { $0.key < $1.key }) where count > 0 {
            body(
                UInt16(key >> 16), Reason(rawValue: UInt8(key >> 8 & 255)) ?? .custom, UInt8(key & 255), count)
        }
    }

    /// Deletes all records and counts. The numbering of the records continues.
    package mutating func removeAll() {
        ring.removeAll()
        ids.removeAll()
        duplicatesByID = [:]
        duplicates = []
        counts = InlineArray(repeating: 0)
        otherCounts = [:]
        total = 0
        acceptedTotal = 0
        duplicateTotal = 0
        acceptedDuplicateTotal = 0
        unansweredTotal = 0
        unprocessedTotal = 0
    }

    // MARK: Reading records

    /// Returns the token of a record, or nil if a part of it has been overwritten.
    func token(of record: Record) -> [UInt8]? {
        let length = Int(record.tokenLength)
        var token = Array(repeating: UInt8(0), count: min(length, Record.inlineToken))
        for index in token.indices {
            let word =
                switch index >> 3 {
                case 0: record.token.0
                case 1: record.token.1
                case 2: record.token.2
                default: record.token.3
                }
            token[index] = UInt8(truncatingIfNeeded: word >> UInt64(8 * (index & 7)))
        }
        if length <= Record.inlineToken { return token }
        guard let rest = extra(of: record, from: 0, count: length - Record.inlineToken) else { return nil }
        return token + rest
    }

    func label(of record: Record) -> [UInt8]? {
        extra(of: record, from: max(Int(record.tokenLength) - Record.inlineToken, 0), count: Int(record.labelLength))
    }

    func payload(of record: Record) -> [UInt8]? {
        let start = max(Int(record.tokenLength) - Record.inlineToken, 0) + Int(record.labelLength)
        return extra(of: record, from: start, count: Int(record.payloadLength))
    }

    private func extra(of record: Record, from offset: Int, count: Int) -> [UInt8]? {
        guard record.extra != UInt64.max else { return nil }
        return retained.bytes(from: record.extra + UInt64(offset), count: count)
    }
}
