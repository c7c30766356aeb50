import PushLogic
import PushLoop
package import PushModel

/// The Live Activities of all parts of a ledger for which messages wait and of which no address is known.
package final class SharedActivityWaits: ActivityWaits {
    private let state = Locked(UnaddressedActivities())
    private let refusalObserver = Locked<(@Sendable () -> Void)?>(nil)

    package init() {}

    package func load(of app: AppID) -> (count: Int, bytes: Int) { state.withLock { $0.load(of: app) } }

    package var waiting: Int { state.withLock { $0.waiting } }

    /// Sets how many parts of the ledger this process carries out, of how many.
    func setShare(_ own: Int, of all: Int) { state.withLock { $0.share = (own, all) } }

    // MARK: Storing

    func admit(_ wait: ActivityWait, named name: String) -> Bool {
        let (isAdmitted, isToAsk) = state.withLock { state in
            if state.admit(wait) { return (true, false) }
            return (false, state.refused(RefusedActivity(wait.activity, of: wait.app, name: name)))
        }
        if isToAsk { refusalObserver.withLock { $0 }?() }
        return isAdmitted
    }

    /// Records what became of messages that were admitted. Those without a number are not stored.
    fileprivate func end(_ messages: [(activity: UInt64, seq: UInt64?)]) {
        state.withLock { state in
            for (activity, seq) in messages {
                if let seq { state.stored(activity, as: seq) } else { state.withdrawn(activity) }
            }
        }
    }

    // MARK: The router

    package func waits(_ wait: ActivityWait, newest seq: UInt64) { state.withLock { $0.waits(wait, newest: seq) } }

    package func found(_ activity: UInt64) { state.withLock { $0.found(activity) } }

    package func lost(_ wait: ActivityWait, newest seq: UInt64) { state.withLock { $0.lost(wait, newest: seq) } }

    package func ended(_ activity: UInt64, upTo seq: UInt64) { state.withLock { $0.ended(activity, upTo: seq) } }

    package func observeRefusals(_ observer: @escaping @Sendable () -> Void) {
        refusalObserver.withLock { $0 = observer }
    }

    package func takeRefused() -> [RefusedActivity] { state.withLock { $0.takeRefused() } }

    package func foundRefused(_ activity: RefusedActivity) { state.withLock { $0.foundRefused(activity) } }
}

/// The messages to Live Activities of one group. However the group ends, those that are not stored count no more.
final class AdmittedActivities {
    private let waits: SharedActivityWaits
    private var messages: [(activity: UInt64, seq: UInt64?)] = []

    init(_ waits: SharedActivityWaits) {
        self.waits = waits
    }

    deinit { withdraw() }

    func admit(_ wait: ActivityWait, named name: String) -> Bool {
        guard waits.admit(wait, named: name) else { return false }
        messages.append((wait.activity, nil))
        return true
    }

    /// Takes the number of the message that was admitted last.
    func number(_ seq: UInt64) { messages[messages.count - 1].seq = seq }

    func stored() {
        waits.end(messages)
        messages = []
    }

    func withdraw() {
        waits.end(messages.map { ($0.activity, nil) })
        messages = []
    }
}
