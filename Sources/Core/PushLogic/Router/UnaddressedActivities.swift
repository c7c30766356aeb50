package import PushModel

/// Decides whether an app may have another Live Activity for which messages wait and of which no address is known.
///
/// An activity counts from the moment in which the registry was asked and had no address of it, until one is found or
/// registered, or until all messages to it have ended. Of its messages, only the newest counts, because all others end.
/// What was accepted and not looked up yet does not count: after a start, that is everything, and most of it may have
/// an address.
///
/// If there is no room, an activity that was not looked up since the start is refused, too. It is kept in
/// ``RefusedActivities`` until the registry was asked, so that its next message is accepted if it has an address.
package struct UnaddressedActivities: Sendable {
    /// The number of activities of an app.
    package static let maxCount = 10_000
    /// The size of their payloads.
    package static let maxBytes = 16 << 20
    /// The number of activities of which it is remembered that they have an address. Beyond it, the half that was used
    /// least recently is forgotten until it is looked up again.
    static let maxKnown = 1 << 18

    private struct Entry {
        let app: AppID
        var bytes = 0
        var isEnd = false
        /// The number of the newest message; 0 if all stored ones have ended.
        var newest: UInt64 = 0
        /// The number of messages that are being stored.
        var unstored = 0
        /// Whether the registry was asked and had no address.
        var isLost = false
    }

    /// The activities of an app that count, and the size of their payloads.
    private struct Load {
        var count = 0
        var bytes = 0
    }

    private var entries: [UInt64: Entry] = [:]
    private var loads: [AppID: Load] = [:]
    /// The activities that have an address: those used last, and those used before them.
    private var known: (recent: Set<UInt64>, former: Set<UInt64>) = ([], [])
    private var refused = RefusedActivities()
    /// How many parts of the ledger this process carries out, of how many. Activities are spread evenly.
    package var share = (own: 1, all: 1)

    package init() {}

    /// The activities of an app that count, and the size of their payloads.
    package func load(of app: AppID) -> (count: Int, bytes: Int) {
        let load = loads[app] ?? Load()
        return (load.count, load.bytes)
    }

    /// The activities of all apps for which messages wait and of which no address is known, looked up or not.
    package var waiting: Int { entries.count }

    // MARK: Messages

    /// Counts a message that is about to be stored. Returns false if there is no room for it; then nothing is counted.
    package mutating func admit(_ wait: ActivityWait) -> Bool {
        if isKnown(wait.activity) { return true }
        let entry = entries[wait.activity]
        let load = load(of: wait.app)
        if entry == nil, !fits(load.count + 1, Self.maxCount) { return false }
        let added = takesPlace(wait, of: entry) ? wait.bytes - (entry?.bytes ?? 0) : 0
        if added > 0, !fits(load.bytes + added, Self.maxBytes) { return false }
        put(wait)
        entries[wait.activity]?.unstored += 1
        return true
    }

    /// Records that an admitted message is stored, under a number.
    package mutating func stored(_ activity: UInt64, as seq: UInt64) {
        guard var entry = entries[activity] else { return }
        entry.unstored = max(0, entry.unstored - 1)
        entry.newest = max(entry.newest, seq)
        entries[activity] = entry
    }

    /// Records that an admitted message is not stored.
    package mutating func withdrawn(_ activity: UInt64) {
        guard var entry = entries[activity] else { return }
        entry.unstored = max(0, entry.unstored - 1)
        entries[activity] = entry
        removeIfIdle(activity)
    }

    package mutating func waits(_ wait: ActivityWait, newest seq: UInt64) {
        if isKnown(wait.activity) { return }
        let newest = entries[wait.activity]?.newest ?? 0
        if seq >= newest { put(wait) }
        entries[wait.activity]?.newest = max(newest, seq)
    }

    package mutating func ended(_ activity: UInt64, upTo seq: UInt64) {
        guard let entry = entries[activity], entry.newest <= seq else { return }
        entries[activity]?.newest = 0
        removeIfIdle(activity)
    }

    // MARK: Addresses

    package mutating func found(_ activity: UInt64) {
        remove(activity)
        know(activity)
    }

    package mutating func lost(_ wait: ActivityWait, newest seq: UInt64) {
        known.recent.remove(wait.activity)
        known.former.remove(wait.activity)
        waits(wait, newest: seq)
        guard let entry = entries[wait.activity], !entry.isLost else { return }
        entries[wait.activity]?.isLost = true
        loads[entry.app, default: Load()].count += 1
        loads[entry.app, default: Load()].bytes += entry.bytes
    }

    private mutating func isKnown(_ activity: UInt64) -> Bool {
        if known.recent.contains(activity) { return true }
        guard known.former.remove(activity) != nil else { return false }
        know(activity)
        return true
    }

    private mutating func know(_ activity: UInt64) {
        known.former.remove(activity)
        if known.recent.count >= Self.maxKnown / 2 { known = ([], known.recent) }
        known.recent.insert(activity)
    }

    // MARK: Refusals

    /// Keeps an activity that was refused, unless the registry had no address of it. Returns whether the registry is to
    /// be asked, and is not being asked yet.
    package mutating func refused(_ activity: RefusedActivity) -> Bool {
        entries[activity.activity] == nil && refused.add(activity)
    }

    package mutating func takeRefused() -> [RefusedActivity] { refused.take() }

    /// If a message to it was accepted by now, the look-up of that message decides.
    package mutating func foundRefused(_ activity: RefusedActivity) {
        if entries[activity.activity] == nil { know(activity.activity) }
    }

    // MARK: Counting

    /// Returns whether this process may hold as much, if the whole ledger may hold `limit`.
    private func fits(_ amount: Int, _ limit: Int) -> Bool { amount * share.all <= limit * max(1, share.own) }

    /// Only another end takes the place of an end.
    private func takesPlace(_ wait: ActivityWait, of entry: Entry?) -> Bool {
        guard let entry else { return true }
        return wait.isEnd || !entry.isEnd
    }

    private mutating func put(_ wait: ActivityWait) {
        let former = entries[wait.activity]
        guard takesPlace(wait, of: former) else { return }
        var entry = former ?? Entry(app: wait.app)
        (entry.bytes, entry.isEnd) = (wait.bytes, wait.isEnd)
        entries[wait.activity] = entry
        if entry.isLost { loads[entry.app]?.bytes += wait.bytes - (former?.bytes ?? 0) }
    }

    private mutating func removeIfIdle(_ activity: UInt64) {
        guard let entry = entries[activity], entry.newest == 0, entry.unstored == 0 else { return }
        remove(activity)
    }

    private mutating func remove(_ activity: UInt64) {
        guard let entry = entries.removeValue(forKey: activity), entry.isLost else { return }
        loads[entry.app]?.count -= 1
        loads[entry.app]?.bytes -= entry.bytes
        if loads[entry.app]?.count == 0 { loads[entry.app] = nil }
    }
}
