package import PushTime

/// Removal of keys that are older than the window, in rows.
extension DedupeMachine {
    /// The row of keys to examine next.
    package enum NextKeyRow: Equatable, Sendable {
        /// The row with this number, which was pinned.
        case pinned(UInt64)
        /// The first row whose number is higher than this.
        case after(UInt64)
    }

    /// Returns which row of keys to examine next.
    package mutating func nextKeyRow() -> NextKeyRow {
        if let released = pinned.next() { return .pinned(released) }
        return .after(examinedUpTo)
    }

    /// Begins again with the oldest row, after the rows that are known here were not removed as announced, or the time
    /// was set back.
    package mutating func examineAllRowsAgain() {
        examinedUpTo = space.base
        pinned.removeAll()
    }

    /// Returns whether rows of this time are older than the window.
    package func isBeyondWindow(_ time: WallTime, at now: WallTime) -> Bool { time < now - window }

    /// Decides whether a row that is older than the window can be removed. Returns what is to be forgotten after the
    /// commit, or nil if the row stays. It stays pinned:
    /// - while one of its messages is not done, because duplicates of it must be recognized;
    /// - while it holds ended deliveries of a message that is not done, because a restart would send them again;
    /// - while it records that a message is done whose row has unfinished messages, because a restart would send that
    ///   message again.
    ///
    /// - Parameters:
    ///   - scheduled: Returns which of `count` numbers from the given one belong to scheduled messages.
    ///   - hasStoredKey: Returns whether a row of keys still contains the message.
    package mutating func examine<Failure: Error>(
        _ row: KeyRow, scheduled: (_ first: UInt64, _ count: Int) throws(Failure) -> Set<UInt64>,
        hasStoredKey: (UInt64) throws(Failure) -> Bool
    ) throws(Failure) -> ForgottenKeys? {
        if let message = try unfinished(row, scheduled: scheduled) {
            pinned.pin(row.number, until: message)
            examinedUpTo = max(examinedUpTo, row.number)
            return nil
        }
        let scheduled = row.accepted.isEmpty ? [] : try scheduled(row.number, row.accepted.count)
        var forgotten = ForgottenKeys()
        if pinned.hasRows {
            for key in row.ended {
                // The row of its message is pinned, and would release the device when another message has claimed it.
                let isHeld = key.isOnly && key.isClaimed ? try hasStoredKey(key.seq) : false
                if isHeld { forgotten.heldDevices.append(key.fingerprint) } else { forgotten.deliveries.append(key) }
            }
        } else {
            forgotten.deliveries = row.ended
        }
        forgotten.messages.reserveCapacity(row.accepted.count)
        for (index, key) in row.accepted.enumerated() {
            let seq = row.number &+ UInt64(index)
            // The engine keeps the id of a scheduled message with the message.
            if scheduled.isEmpty || !scheduled.contains(seq) { forgotten.messages.append((key, seq)) }
        }
        examinedUpTo = max(examinedUpTo, row.number)
        return forgotten
    }

    /// Returns the message, or the first number of the row of messages, for which a row of keys is still needed.
    private func unfinished<Failure: Error>(
        _ row: KeyRow, scheduled: (UInt64, Int) throws(Failure) -> Set<UInt64>
    ) throws(Failure) -> UInt64? {
        if let open = pending.openRow(from: row.number, count: row.accepted.count) { return open }
        for seq in row.completed { if let open = pending.row(of: seq) { return open } }
        var last: UInt64 = 0
        for key in row.ended where key.seq != last {
            last = key.seq
            if pending.contains(last) { return last }
            if try !scheduled(last, 1).isEmpty { return last }
        }
        return nil
    }

    /// Forgets the keys of a row after the commit that removed it.
    package mutating func forget(_ keys: ForgottenKeys) {
        for key in keys.deliveries where key.isClaimed {
            deliveries.remove(key.fingerprint)
            if key.isOnly { endedOnly.remove(key.fingerprint) }
        }
        for fingerprint in keys.heldDevices { endedOnly.remove(fingerprint) }
        for (key, seq) in keys.messages { forget(key, seq: seq) }
    }

    /// Forgets a message. The next message with its id is a new one.
    mutating func forget(_ key: AcceptedKey, seq: UInt64) {
        // A delivery that ended much later than its message was accepted is remembered by its own key.
        if key.isSingle, !endedOnly.contains(key.audience) { deliveries.remove(key.audience) }
        messages.remove(seq, of: key.fingerprint, for: key.audience)
    }
}
