import PushLoop
import PushModel
import PushPostgreSQL
import PushTime

/// Events that belong to no request.
extension PostgreSQLCore {
    func note(_ events: [EventDraft], done: (@Sendable (UInt64?) -> Void)?) {
        guard let part = part(for: events) ?? home else {
            if let done { return done(nil) }
            // A node that leaves has handed its parts over, and can store nothing about the end of its connections.
            if isEnding { return }
            homeless += events
            return dropOverdue(&homeless, beyond: LedgerGroup.notesKept)
        }
        part.waiting.notes.append((events, done))
        if fault != nil { boundNotes() }
    }

    /// Returns the part of the message that events belong to, if this node writes it.
    private func part(for events: [EventDraft]) -> LedgerPart? {
        guard let app = events.first?.app, let id = events.first?.messageID else { return nil }
        return parts[part(of: app, id)].flatMap { $0.isOpen ? $0 : nil }
    }

    /// Hands in the events that waited until the node owned a part.
    func storeHomeless() {
        guard !homeless.isEmpty, let home else { return }
        home.waiting.notes.append((exchange(&homeless, with: []), nil))
        flushLane(of: home)
    }

    private func dropOverdue(_ events: inout [EventDraft], beyond limit: Int) {
        guard events.count > limit else { return }
        drops.add(events.count - limit)
        events.removeFirst(events.count - limit)
    }

    /// Drops the oldest events of parts beyond the number that is kept while the database does not store them.
    func boundNotes() {
        var count = 0
        for part in parts.values {
            for (events, _) in part.waiting.notes { count += events.count }
        }
        guard count > LedgerGroup.notesKept else { return }
        var dropped = 0
        // Nearly all of them wait in one part.
        let parts = parts.values.filter { !$0.waiting.notes.isEmpty }
        for part in parts.sorted(by: { $0.waiting.notes.count > $1.waiting.notes.count }) {
            let kept = part.waiting.notes.drop { events, done in
                guard count > LedgerGroup.notesKept else { return false }
                count -= events.count
                dropped += events.count
                done?(nil)
                return true
            }
            part.waiting.notes = Array(kept)
        }
        drops.add(dropped)
        publish()
    }

    /// Answers the callers that wait until their events are stored, because the ledger is about to close.
    func dropAwaitedNotes() {
        var dropped = 0
        for part in parts.values {
            part.waiting.notes.removeAll { events, done in
                guard let done else { return false }
                done(nil)
                dropped += events.count
                return true
            }
        }
        drops.add(dropped)
    }

    /// Drops the events that wait, because the ledger closes.
    func dropNotes() {
        if !isEnding { drops.add(homeless.count) }
        homeless = []
        for part in parts.values {
            drops.add(part.waiting.notes.reduce(0) { $0 + $1.0.count })
            for (_, done) in exchange(&part.waiting.notes, with: []) { done?(nil) }
            // The next owner of the part publishes them.
            part.waiting.shared = []
        }
        drops.end()
    }
}
