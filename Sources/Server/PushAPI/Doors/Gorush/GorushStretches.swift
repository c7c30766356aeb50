import PushLoop
import PushModel
import PushTime

/// Finds the ids of notifications that their clients have not named.
///
/// The time is cut into stretches that are as long as the window, and the id has the number of the stretch. So the ledger
/// recognizes an equal notification of the same stretch, also after a crash. For one of the stretch before, there are
/// three steps: what is under way has its time here; what was accepted is remembered for the window; and what an earlier
/// process, or another node, may have accepted is looked up in the events, once for all notifications of a request. A
/// look-up takes the longer the more events there are, so that it is left out when the memory has all of a window: a
/// process reads the last one of the earlier process when it starts.
final class GorushStretches: Sendable {
    private struct Begun {
        let at: WallTime
        var count: Int
    }

    private struct Accepted {
        let id: MessageID
        let at: WallTime
    }

    private struct State {
        var begun: [String: Begun] = [:]
        /// What was accepted, in two generations, each at least as long as the window.
        var recent: [String: Accepted] = [:]
        var older: [String: Accepted] = [:]
        var turnedAt: WallTime
        /// The time from which on everything that was accepted is remembered.
        var completeSince: WallTime
    }

    static let usualLimit = 100_000

    private let window: Duration
    private let limit: Int
    private let state: Locked<State>

    /// - Parameter limit: The number of notifications of a generation. Above it all are forgotten, and looked up.
    init(window: Duration, at now: WallTime, limit: Int = usualLimit) {
        self.window = window
        self.limit = limit
        state = Locked(State(turnedAt: now, completeSince: now))
    }

    // MARK: Under way

    /// Begins with a notification, and returns the time that counts for it: that of an equal one which is under way.
    func begin(_ hash: String, at now: WallTime) -> WallTime {
        state.withLock { state in
            let at = state.begun[hash]?.at ?? now
            state.begun[hash, default: Begun(at: at, count: 0)].count += 1
            return at
        }
    }

    /// Ends with a notification, when its answer is known.
    ///
    /// - Parameter id: Its id, if it was accepted now.
    func end(_ hash: String, acceptedAs id: MessageID? = nil, at now: WallTime) {
        state.withLock { state in
            if let id { remember(Accepted(id: id, at: now), for: hash, in: &state) }
            guard let one = state.begun[hash] else { return }
            state.begun[hash] = one.count > 1 ? Begun(at: one.at, count: one.count - 1) : nil
        }
    }

    /// The number of notifications that are under way, and of those that are remembered.
    var counts: (begun: Int, remembered: Int) {
        state.withLock { ($0.begun.count, $0.recent.count + $0.older.count) }
    }

    private func remember(_ accepted: Accepted, for hash: String, in state: inout State) {
        if accepted.at >= state.turnedAt + window {
            state.older = accepted.at >= state.turnedAt + window + window ? [:] : state.recent
            state.recent = [:]
            state.turnedAt = accepted.at
        }
        state.recent[hash] = accepted
        guard state.recent.count > limit else { return }
        (state.recent, state.older, state.completeSince) = ([:], [:], accepted.at)
    }

    /// Remembers all that an earlier process has accepted within the window, so that nothing of it is looked up.
    func recall(_ accepted: [(id: String, at: WallTime)]) {
        state.withLock { state in
            for one in accepted {
                guard let hash = GorushIdentity.hash(of: one.id), let id = MessageID(one.id),
                    state.recent[hash] == nil
                else { continue }
                // They leave with the second generation, which is at least a window away.
                state.recent[hash] = Accepted(id: id, at: one.at)
            }
            state.completeSince = .distantPast
        }
    }

    // MARK: Ids

    /// The id of a notification.
    enum Choice {
        case one(MessageID)
        /// That of the stretch before, if it was accepted within the window, and else a new one.
        case earlier(MessageID, otherwise: MessageID)

        /// The id that is to be looked up.
        var question: MessageID? { if case .earlier(let id, _) = self { id } else { nil } }
    }

    /// - Parameter isAlone: Whether no other process accepts notifications.
    func choice(_ hash: String, at now: WallTime, isAlone: Bool) -> Choice {
        let stretch = now.milliseconds / max(1, window.wholeMilliseconds)
        let (known, isComplete) = state.withLock { state in
            (state.recent[hash] ?? state.older[hash], now - window >= state.completeSince)
        }
        if let known, isWithin(known.at, of: now) { return .one(known.id) }
        let new = GorushIdentity.id(hash, in: stretch)
        return isAlone && isComplete ? .one(new) : .earlier(GorushIdentity.id(hash, in: stretch - 1), otherwise: new)
    }

    /// - Parameter accepted: When those that were looked up were accepted.
    func id(_ choice: Choice, at now: WallTime, accepted: [MessageID: WallTime]) -> MessageID {
        switch choice {
        case .one(let id): id
        case .earlier(let id, let new): accepted[id].map { isWithin($0, of: now) } ?? false ? id : new
        }
    }

    /// The time since which acceptances count for a notification. Clocks may differ by a minute, or a shorter window.
    func start(of now: WallTime) -> WallTime { now - window - min(window, .seconds(60)) }

    /// Whether the time is within the window. A time after now is that of a clock which was set back.
    private func isWithin(_ time: WallTime, of now: WallTime) -> Bool { now < time + window && time < now + window }
}
