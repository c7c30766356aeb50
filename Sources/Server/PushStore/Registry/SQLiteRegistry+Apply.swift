import ActiveObject
package import PushModel
import PushTime
import PushWire

extension SQLiteRegistry {
    package func apply(_ segments: [LogSegment]) async throws {
        let applied = state.withLock { $0.status.applied }
        var marks: [RecordedDeactivation] = []
        var last = applied
        for segment in segments where segment.last > applied {
            do {
                try segment.deactivations(since: applied, into: &marks)
            } catch {
                // Skip the rest of a damaged segment. The registry learns of these devices again when they are sent to.
                state.withLock { $0.status.damaged += 1 }
            }
            last = max(last, segment.last)
        }
        guard last > applied else { return }
        try await apply(marks, upTo: last)
    }

    func apply(_ marks: [RecordedDeactivation]) async throws { try await apply(marks, upTo: nil) }

    /// - Parameter number: the number of the last event that this applies; nil if the marks do not come from the log.
    func apply(_ marks: [RecordedDeactivation], upTo number: UInt64?) async throws {
        try await turn.take {
            let marked = state.withLock { $0.marked }
            let isDue = number.map { $0 >= marked + options.markEvery } ?? false
            if !marks.isEmpty || isDue {
                let batch = DeactivationBatch(marks, at: now())
                let (result, changes) = try await database.change(among: files) { transaction in
                    var changes = try DeviceChanges(batch.ids, tagged: batch.tagged, in: transaction)
                    let result = batch.decide(&changes)
                    try changes.write(in: transaction)
                    if let number { try Self.mark(number, in: transaction) }
                    return (result, changes)
                }
                written(changes)
                remember(result)
                if let number { state.withLock { $0.marked = max($0.marked, number) } }
            }
            if let number { state.withLock { $0.status.applied = max($0.status.applied, number) } }
            try await forgetOldest()
        }
    }

    @discardableResult
    package func hold(_ devices: [DeviceID]) -> [DeviceID] { devices.filter { gone.insert($0) } }

    package func release(_ devices: [DeviceID]) async {
        // Take a turn, so that this does not undo a concurrent decision.
        await turn.take {
            // If the file cannot be read, the devices become active again, as they were before `hold`.
            let found = try? await database.read { try Device.find(devices, in: $0) }
            let dead = Set((found ?? []).filter { !$0.isActive }.map(\.deviceId))
            for device in devices where !dead.contains(device) { gone.remove(device) }
        }
    }

    @discardableResult
    package func catchUp(part: Int, from log: any EventLog) async throws -> Bool {
        let isWhole = try await applyAll(of: log)
        if isWhole, state.withLock({ $0.mayLackEvents }) { try await oweMissing(in: log) }
        state.withLock { $0.mayLackEvents = false }
        return isWhole
    }

    private func applyAll(of log: any EventLog) async throws -> Bool {
        var isWhole = true
        while true {
            let applied = state.withLock { $0.status.applied }
            let page = try await log.read(since: applied, limit: 10_000)
            if page.newest < applied {
                // This is another log or an older copy of it: its numbers start again.
                try await begin(after: page.oldest == 0 ? 0 : page.oldest - 1)
                isWhole = false
                continue
            }
            if page.oldest > applied + 1, page.newest > applied { isWhole = false }
            guard let last = page.segments.last?.last, last > applied else { return isWhole }
            try await apply(page.segments)
        }
    }

    private func begin(after number: UInt64) async throws {
        try await turn.take {
            try await database.write { try Self.mark(number, in: $0) }
            state.withLock { state in
                state.status.applied = number
                state.marked = number
            }
        }
    }

    /// Stores the number of the last applied event. The caller must have the turn.
    func writeMark() async throws {
        let (applied, marked) = state.withLock { ($0.status.applied, $0.marked) }
        guard applied > marked else { return }
        try await database.write { try Self.mark(applied, in: $0) }
        state.withLock { $0.marked = applied }
    }

    private static func mark(_ number: UInt64, in transaction: Transaction) throws {
        try AppliedMark.upsertAll([AppliedMark(number)], on: \.objectId, in: transaction)
    }

    /// Removes the oldest devices that were never registered, if there are too many: those beyond the limit and a
    /// twentieth more, because the search reads many rows.
    private func forgetOldest() async throws {
        let (count, limit) = (state.withLock { $0.status.unregistered }, options.unregisteredLimit)
        guard count > limit else { return }
        let excess = count - limit + limit / 20
        let forgotten = try await database.write { transaction in
            var devices = try Device.where(\.registeredAt == nil).limit(excess).all(in: transaction)
            let ids = devices.map(\.deviceId)
            try devices.removeAll(in: transaction)
            return ids
        }
        for device in forgotten { gone.remove(device) }
        state.withLock { $0.status.unregistered -= forgotten.count }
    }
}
