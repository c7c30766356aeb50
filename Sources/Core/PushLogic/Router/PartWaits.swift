import PushModel
import PushTime

/// The times since which the messages of a lane wait, for each part of the ledger, so that the times of a part can be
/// forgotten with it.
struct PartWaits: Sendable {
    /// A ledger in files has one part, so that the table has one element then.
    private var parts = [WaitTimes()]

    /// The number of messages that wait.
    var count: Int { parts.reduce(0) { $0 + $1.count } }

    /// The time since which the oldest message waits; nil if none waits.
    var oldest: WallTime? { parts.lazy.compactMap(\.oldest).min() }

    mutating func add(_ time: WallTime, of seq: UInt64) {
        let part = EventNumber.part(of: seq)
        if part >= parts.count { parts.append(contentsOf: repeatElement(WaitTimes(), count: part + 1 - parts.count)) }
        parts[part].add(time)
    }

    /// Removes one message.
    ///
    /// - Parameter time: The time with which it was added. If it is not known, the oldest time of the part is removed.
    mutating func remove(_ time: WallTime?, of seq: UInt64) {
        let part = EventNumber.part(of: seq)
        guard part < parts.count else { return }
        if let time { parts[part].remove(time) } else { parts[part].removeOldest(1) }
    }

    /// Forgets all messages of a part.
    mutating func removeAll(of part: Int) {
        if part < parts.count { parts[part] = WaitTimes() }
    }
}
