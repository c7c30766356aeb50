extension LedgerCore {
    /// Publishes the current state.
    ///
    /// - Parameter isWhole: Whether the size of the tables of keys is calculated too, which takes some microseconds.
    func publish(isWhole: Bool = false) {
        let keyBytes = isWhole ? machine.dedupe.byteCount : published.withLock { $0.status.keyBytes }
        let (status, backlog) = (status(keyBytes: keyBytes), machine.backlog)
        published.withLock {
            $0.status = status
            $0.backlogs = backlog
        }
    }

    /// Returns the state without the backlogs of the apps.
    func status(keyBytes: Int) -> LedgerStatus {
        var status = LedgerStatus()
        status.newest = machine.writer.next - 1
        status.oldest = oldest
        status.agedAt = ageClock.time
        status.waiting = machine.dedupe.pending.count
        status.scheduled = machine.scheduledCount
        status.messageKeys = machine.dedupe.messages.idCount
        status.deliveryKeys = machine.dedupe.deliveryCount
        status.remembered = machine.dedupe.rememberedCount
        status.refusedByLimit = machine.dedupe.refusedCount
        status.keyBytes = keyBytes
        status.writeAheadPages = connection.logPages
        status.steps = connection.steps
        status.logBytes = logBytes
        status.commits = commits
        status.droppedEvents = drops.total
        status.fault = fault
        return status
    }
}
