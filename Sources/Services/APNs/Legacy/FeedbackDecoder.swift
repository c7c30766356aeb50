package import PushModel

/// The feedback service closed the connection within a tuple. The rest of the tuple is lost, because reading clears the
/// list.
package struct FeedbackTruncation: Error, Equatable, CustomStringConvertible {
    /// The number of bytes that arrived of the incomplete tuple.
    package let bytes: Int

    package init(bytes: Int) {
        self.bytes = bytes
    }

    package var description: String {
        "the feedback list is truncated \(bytes) bytes into an entry: at least one dead token is lost"
    }
}

/// Decodes the tuples of the feedback service, `time u32 | length u16 | token`, from reads of any size
/// (Documentation/Protocols.md, "B3. The feedback service"). It buffers at most one tuple.
package struct FeedbackDecoder: Sendable {
    private static let headLength = 6

    private var pending: [UInt8] = []
    /// The remaining bytes of a malformed token, which are skipped.
    private var skipping = 0
    private var skipped = 0

    /// The number of tuples whose token is empty or longer than `Address.maxTokenLength`. They are skipped rather
    /// than rejected, since their length gives the start of the next tuple and the tuples after them must not be lost.
    package private(set) var malformed: UInt64 = 0

    package init() {}

    package mutating func decode(_ bytes: UnsafeRawBufferPointer, into tuples: inout [FeedbackTuple]) {
        var offset = 0
        while offset < bytes.count {
            let left = bytes.count - offset
            if skipping > 0 {
                let count = min(skipping, left)
                skipping -= count
                skipped += count
                offset += count
                continue
            }
            let needed = pending.count < Self.headLength ? Self.headLength : Self.headLength + tokenLength
            let count = min(needed - pending.count, left)
            unsafe pending.append(contentsOf: bytes[offset..<offset + count])
            offset += count
            guard pending.count == needed else { return }
            if needed > Self.headLength {
                emit(into: &tuples)
            } else if !(1...Address.maxTokenLength).contains(tokenLength) {
                malformed += 1
                skipping = tokenLength
                skipped = Self.headLength
                pending.removeAll(keepingCapacity: true)
            }
        }
    }

    package mutating func decode(_ bytes: [UInt8], into tuples: inout [FeedbackTuple]) {
        unsafe bytes.withUnsafeBytes { unsafe decode($0, into: &tuples) }
    }

    /// Called at the end of the list.
    ///
    /// - Throws: ``FeedbackTruncation`` if the list ends within a tuple.
    package func finish() throws(FeedbackTruncation) {
        if skipping > 0 { throw FeedbackTruncation(bytes: skipped) }
        if !pending.isEmpty { throw FeedbackTruncation(bytes: pending.count) }
    }

    private var tokenLength: Int { Int(pending[4]) << 8 | Int(pending[5]) }

    private mutating func emit(into tuples: inout [FeedbackTuple]) {
        let time = pending[..<4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        guard let token = Address(bytes: pending[Self.headLength...]) else {
            preconditionFailure("the decoder kept an invalid token of \(pending.count - Self.headLength) bytes")
        }
        tuples.append(FeedbackTuple(time: time, token: token))
        pending.removeAll(keepingCapacity: true)
    }
}
