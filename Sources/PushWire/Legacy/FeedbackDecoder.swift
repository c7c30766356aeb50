package import PushModel

/// The feedback service ended its list within a tuple: the rest of it is lost, for reading clears the list.
package struct FeedbackTruncation: Error, Equatable, CustomStringConvertible {
    /// Of the tuple that is not complete.
    package let bytes: Int

    package init(bytes: Int) {
        self.bytes = bytes
    }

    package var description: String {
        "the feedback list ends within a tuple, \(bytes) bytes into it: at least one device that is gone is not known"
    }
}

/// Reads the tuples of the feedback service, `time u32 | length u16 | token`, however they are cut into pieces
/// (PROTOCOLS B3). Holds no more than one tuple.
package struct FeedbackDecoder: Sendable {
    private static let headLength = 6

    private var pending: [UInt8] = []
    /// What is left of a token that is none, and not kept.
    private var skipping = 0
    private var skipped = 0

    /// Tuples whose token has no bytes or more than a token may have. They are passed over: their length says where
    /// the next one begins, and what stands behind them is not to be lost.
    package private(set) var malformed: UInt64 = 0

    package init() {}

    package mutating func decode(_ bytes: UnsafeRawBufferPointer, into tuples: inout [FeedbackTuple]) {
        var place = 0
        while place < bytes.count {
            let left = bytes.count - place
            if skipping > 0 {
                let count = min(skipping, left)
                skipping -= count
                skipped += count
                place += count
                continue
            }
            let wanted = pending.count < Self.headLength ? Self.headLength : Self.headLength + tokenLength
            let count = min(wanted - pending.count, left)
            pending.append(contentsOf: bytes[place..<place + count])
            place += count
            guard pending.count == wanted else { return }
            if wanted > Self.headLength {
                emit(into: &tuples)
            } else if !(1...DeviceToken.maximumLength).contains(tokenLength) {
                malformed += 1
                skipping = tokenLength
                skipped = Self.headLength
                pending.removeAll(keepingCapacity: true)
            }
        }
    }

    package mutating func decode(_ bytes: [UInt8], into tuples: inout [FeedbackTuple]) {
        bytes.withUnsafeBytes { decode($0, into: &tuples) }
    }

    /// The list is at its end. Throws if that is within a tuple.
    package func finish() throws(FeedbackTruncation) {
        if skipping > 0 { throw FeedbackTruncation(bytes: skipped) }
        if !pending.isEmpty { throw FeedbackTruncation(bytes: pending.count) }
    }

    private var tokenLength: Int { Int(pending[4]) << 8 | Int(pending[5]) }

    private mutating func emit(into tuples: inout [FeedbackTuple]) {
        let time = pending[..<4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        guard let token = DeviceToken(bytes: pending[Self.headLength...]) else {
            preconditionFailure("a token of \(pending.count - Self.headLength) bytes was taken for one")
        }
        tuples.append(FeedbackTuple(time: time, token: token))
        pending.removeAll(keepingCapacity: true)
    }
}
