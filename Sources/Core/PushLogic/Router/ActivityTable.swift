import PushModel
import PushTime

/// The Live Activities for which messages wait.
struct ActivityTable {
    /// The messages to one activity. They end in the order of their numbers, because their lane keeps it.
    struct State {
        let app: AppIndex
        /// Whether the newest message has ended or left this process, so that only older ones are left.
        var isNewestGone = false
        /// The newest message. All older ones end without being sent.
        var newest: Newest
        /// The highest number of a message so far, which is that of a message behind an end if there is one.
        var last: UInt64
        /// The highest number of a message that has had its turn.
        var turnedUpTo: UInt64 = 0
        /// The message that is looked up or sent.
        var current: MessageHandle?
        /// The newest message, if it is in memory and waits for the end of the current one.
        var next: MessageHandle?
        /// The newest message, if it is on disk again because no address of the activity is known.
        var parked: Parked?
        /// Whether no address was known when the registry was last asked.
        var lacksAddress = false
        /// Whether an address was registered while the current message was looked up.
        var isRegistered = false
    }

    struct Newest {
        let seq: UInt64
        let id: MessageID
        let isEnd: Bool

        init(_ accepted: AcceptedMessage) {
            seq = accepted.seq
            id = accepted.message.id
            isEnd = accepted.message.activity?.event == .end
        }
    }

    struct Parked {
        let seq: UInt64
        let lane: LaneID
        /// The time at which it ends if there is no address by then.
        let until: WallTime
    }

    /// The activities of which no address is known, as the ledger counts them.
    let waits: any ActivityWaits
    private var states: [UInt64: State] = [:]
    /// The number of messages of each app that wait for an address.
    private(set) var waiting: [AppIndex: Int] = [:]
    /// No message that waits for an address ends before this time.
    private(set) var earliestEnd = WallTime.distantFuture
    /// The number of lanes that are being indexed.
    var indexing = 0
    /// Whether a message is superseded of which deliveries may wait for another attempt.
    var hasSuperseded = false
    var clock = AcceptanceClock()

    init(_ waits: any ActivityWaits) {
        self.waits = waits
    }

    func isQuiet(at time: WallTime) -> Bool { indexing == 0 && !hasSuperseded && time < earliestEnd }

    subscript(activity: UInt64) -> State? {
        get { states[activity] }
        set { states[activity] = newValue }
    }

    // MARK: Messages without an address

    /// Takes note that any activity may have an address by now: what is looked up at the moment is looked up again.
    mutating func anyIsRegistered() {
        for (activity, state) in states where state.current != nil { states[activity]?.isRegistered = true }
    }

    mutating func park(_ parked: Parked, of activity: UInt64) {
        states[activity]?.parked = parked
        states[activity]?.lacksAddress = true
        earliestEnd = min(earliestEnd, parked.until)
        waiting[parked.lane.app, default: 0] += 1
    }

    /// Takes the message of an activity that waits for an address; nil if none does.
    mutating func unpark(_ activity: UInt64) -> Parked? {
        guard let parked = states[activity]?.parked.take() else { return nil }
        waiting[parked.lane.app, default: 1] -= 1
        return parked
    }

    /// Takes the messages for which `isMeant` returns true. It looks at all activities.
    mutating func unpark(where isMeant: (Parked) -> Bool) -> [Parked] {
        if !waiting.values.contains(where: { $0 > 0 }) { return [] }
        let activities = states.filter { $0.value.parked.map(isMeant) ?? false }.keys
        return activities.compactMap { unpark($0) }.sorted { $0.seq < $1.seq }
    }

    /// Takes the messages that have waited for too long.
    mutating func unpark(endedBy time: WallTime) -> [Parked] {
        guard time >= earliestEnd else { return [] }
        let ended = unpark { $0.until <= time }
        earliestEnd = states.values.reduce(.distantFuture) { min($0, $1.parked?.until ?? .distantFuture) }
        return ended
    }

    // MARK: Removal

    /// Forgets an activity if nothing of it waits, after a message that had its turn has ended.
    mutating func forgetIfIdle(_ activity: UInt64, after seq: UInt64) {
        guard let state = states[activity], state.isNewestGone, state.last <= max(seq, state.turnedUpTo),
            state.current == nil, state.next == nil, state.parked == nil
        else { return }
        states[activity] = nil
        waits.ended(activity, upTo: state.last)
    }

    /// Takes note that messages on disk end without being read, with one look at all activities. If one was the newest
    /// of its activity, no other of it waits.
    mutating func cancelled(_ seqs: Set<UInt64>) {
        let activities = newestIsGone { seqs.contains($0) }
        for activity in activities { countNoMore(activity) }
    }

    /// Returns the activities of which the newest message is meant.
    @discardableResult
    private mutating func newestIsGone(where isMeant: (UInt64) -> Bool) -> [UInt64] {
        let activities = states.compactMap { isMeant($0.value.newest.seq) ? $0.key : nil }
        for activity in activities { states[activity]?.isNewestGone = true }
        return activities
    }

    /// Tells the ledger if the newest message is gone and nothing else is under way. Older ones may be left on disk,
    /// and end when they are read.
    func countNoMore(_ activity: UInt64) {
        guard let state = states[activity], state.isNewestGone, state.current == nil, state.next == nil else { return }
        waits.ended(activity, upTo: state.last)
    }

    /// Forgets the activities of apps for which nothing waits any more.
    mutating func forget(where isIdle: (AppIndex) -> Bool) {
        remove { isIdle($0.app) }
    }

    private mutating func remove(where isMeant: (State) -> Bool) {
        let removed = states.filter { isMeant($0.value) }
        for (activity, state) in removed {
            states[activity] = nil
            waits.ended(activity, upTo: state.last)
        }
    }

    /// Forgets what is not in memory, of parts of the ledger that another process carries out from now on. What is in
    /// memory ends here.
    mutating func forget(parts: Set<Int>) {
        remove {
            $0.current == nil && $0.next == nil && parts.contains(EventNumber.part(of: $0.newest.seq))
        }
        newestIsGone { parts.contains(EventNumber.part(of: $0)) }
    }
}

/// The times of acceptance, by which devices tell what is newer. They never decrease in the order of acceptance, although
/// the wall clock may be set back, also before the start.
struct AcceptanceClock {
    /// The newest message that was accepted since the start, and the times of those, the earliest and the latest.
    private var newest: UInt64?
    private var earliest = UnixSeconds(.max)
    private var latest = UnixSeconds(.min)
    /// The latest time at which something was stored before the start.
    private var stored = UnixSeconds(.min)
    /// The first message that follows one with a later time, and the time that all from there on have at least.
    private var floor: (since: UInt64, time: UnixSeconds)?

    /// Takes the times of what was stored before the start, or before a part of the ledger was opened.
    mutating func begin(after times: StoredTimes) {
        stored = max(stored, times.latest.unixSeconds)
        if let number = times.setBack { raise(to: times.latest.unixSeconds, since: number) }
    }

    /// Takes the time of a message that is accepted now.
    mutating func noteNew(_ time: UnixSeconds, of seq: UInt64) {
        if time < stored { raise(to: stored, since: seq) }
    }

    /// Takes the time of a message, in the order of acceptance. Those that waited when the ledger was opened may come
    /// after newer ones.
    mutating func note(_ time: UnixSeconds, of seq: UInt64) {
        if newest.map({ seq > $0 }) ?? true {
            if time < latest { raise(to: latest, since: seq) }
            newest = seq
            earliest = min(earliest, time)
        } else if time > earliest {
            raise(to: time, since: seq)
        }
        latest = max(latest, time)
    }

    private mutating func raise(to time: UnixSeconds, since seq: UInt64) {
        floor = (min(floor?.since ?? seq, seq), max(floor?.time ?? time, time))
    }

    func time(_ time: UnixSeconds, of seq: UInt64) -> UnixSeconds {
        guard let floor, seq >= floor.since else { return time }
        return max(time, floor.time)
    }
}
