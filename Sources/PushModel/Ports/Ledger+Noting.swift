extension Ledger {
    /// The number of the first of the events, when the disk has them; nil if the ledger could not take them.
    package func note(_ events: [EventDraft]) async -> UInt64? {
        await withCheckedContinuation { continuation in
            note(events) { continuation.resume(returning: $0) }
        }
    }
}
