import PushLogic
import PushLoop
package import PushModel

/// The Live Activities of all parts of a ledger for which messages wait and of which no address is known.
package final class SharedActivityWaits: ActivityWaits {
    private let state = Locked(UnaddressedActivities())

    package init() {}

    package func load(of app: AppID) -> (count: Int, bytes: Int) { state.withLock { $0.load(of: app) } }

    package var waiting: Int { state.withLock { $0.waiting } }

    /// Sets how many parts of the ledger this process carries out, of how many.
    func setShare(_ own: Int, of all: Int) { state.withLock { $0.share = (own, all) } }

    // MARK: Storing

    func admit(_ wait: ActivityWait) -> Bool { state.withLock { $0.admit(wait) } }

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
}

/// The messages to Live Activities of one group. However the group ends, those that are not stored count no more.
final class AdmittedActivities {
    private let waits: SharedActivityWaits
    private var messages: [(activity: UInt64, seq: UInt64?)] = []

    init(_ waits: SharedActivityWaits) {
        self.waits = waits
    }

    deinit { withdraw() }

    func admit(_ wait: ActivityWait) -> Bool {
        guard waits.admit(wait) else { return false }
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
