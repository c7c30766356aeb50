extension Ledger {
    /// Returns the number of the first event after all events are on disk; nil if the ledger could not store them.
    package func note(_ events: [EventDraft]) async -> UInt64? {
        await withCheckedContinuation { continuation in
            note(events) { continuation.resume(returning: $0) }
        }
    }
}
