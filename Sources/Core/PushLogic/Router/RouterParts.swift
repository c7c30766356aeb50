import PushModel

/// The parts of the ledger that are being closed.
struct RouterParts {
    struct Closing {
        let part: PartitionID
        /// The messages in memory that have deliveries under way or wait for an answer.
        var left: [MessageHandle]
    }

    /// The parts that were closed in this tick.
    var new: Set<Int> = []
    var closing: [Closing] = []

    /// Whether no part is being closed.
    var isQuiet: Bool { new.isEmpty && closing.isEmpty }

    mutating func takeNew() -> Set<Int> {
        defer { new = [] }
        return new
    }
}
