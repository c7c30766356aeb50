import PushLoop
import PushModel
import TestSupport

/// The partitions that the hosts of one test serve. It knows what no node knows: all hosts, and their permits.
final class ServingChecker: Sendable {
    /// The hosts by partition, after a change.
    typealias Owners = [PartitionID: String]

    private struct Serving {
        let host: String
        let epoch: PartitionEpoch
        let permit: SendingPermit
    }

    private struct State {
        var serving: [PartitionID: [Serving]] = [:]
        var epochs: [PartitionID: PartitionEpoch] = [:]
        var violations: [String] = []
    }

    private let state = Locked(State())
    let changes = EventRecorder<Owners>()

    var violations: [String] { state.withLock { $0.violations } }

    /// Records that a host serves a partition from now on. No other host may send for it at this time.
    func serve(_ part: PartitionID, _ epoch: PartitionEpoch, by host: String, _ permit: SendingPermit) {
        change { state in
            let others = state.serving[part, default: []].filter { $0.host != host && $0.permit.isValid }
            for other in others {
                state.violations.append(
                    "\(host) serves \(part) at \(epoch) while \(other.host) serves it at \(other.epoch)")
            }
            if let last = state.epochs[part], epoch < last {
                state.violations.append("\(host) serves \(part) at \(epoch) after it was served at \(last)")
            }
            state.epochs[part] = epoch
            state.serving[part, default: []].removeAll { $0.host == host }
            state.serving[part, default: []].append(Serving(host: host, epoch: epoch, permit: permit))
        }
    }

    func stop(_ part: PartitionID, by host: String) {
        change { $0.serving[part, default: []].removeAll { $0.host == host } }
    }

    func stopAll(by host: String) {
        change { state in
            for part in state.serving.keys { state.serving[part, default: []].removeAll { $0.host == host } }
        }
    }

    func fail(_ text: String) { state.withLock { $0.violations.append(text) } }

    private func change(_ body: (inout State) -> Void) {
        // The order of the recorded changes is that of the changes.
        state.withLock { state in
            body(&state)
            changes.record(state.serving.compactMapValues { $0.last?.host })
        }
    }

    /// Waits until the owners meet a condition.
    @discardableResult
    func wait(until isMet: @escaping @Sendable (Owners) -> Bool) async -> Owners {
        await changes.wait { isMet($0.last ?? [:]) }.last ?? [:]
    }

    /// Waits until each of the hosts serves its number of partitions, in any order, and no other host serves any.
    func wait(for shares: [Int], of hosts: [String]) async {
        await wait { owners in
            owners.count == shares.reduce(0, +)
                && hosts.map { host in owners.values.count { $0 == host } }.sorted() == shares.sorted()
        }
    }
}

/// A ledger of a test, which carries nothing out.
final class RecordingHost: PartitionHost {
    private let name: String
    private let permit: SendingPermit
    private let checker: ServingChecker
    private let loaded = Locked<[PartitionID: PartitionEpoch]>([:])
    /// The epochs at which partitions were loaded, in order.
    let loads = EventRecorder<LeaseCall>()

    struct LeaseCall: Sendable, Equatable {
        let part: PartitionID
        let epoch: PartitionEpoch
    }

    init(_ name: String, permit: SendingPermit, checker: ServingChecker) {
        self.name = name
        self.permit = permit
        self.checker = checker
    }

    func load(_ part: PartitionID, epoch: PartitionEpoch, reply: @escaping @Sendable (LedgerFault?) -> Void) {
        loaded.withLock { $0[part] = epoch }
        loads.record(LeaseCall(part: part, epoch: epoch))
        reply(nil)
    }

    func serve(_ part: PartitionID, epoch: PartitionEpoch) {
        if loaded.withLock({ $0[part] }) != epoch {
            checker.fail("\(name) serves \(part) at \(epoch) without having loaded it")
        }
        checker.serve(part, epoch, by: name, permit)
    }

    func drain(_ part: PartitionID, epoch: PartitionEpoch, reply: @escaping @Sendable () -> Void) {
        checker.stop(part, by: name)
        reply()
    }

    func stopSending() {
        if permit.isValid { checker.fail("\(name) stops sending with a valid permit") }
        checker.stopAll(by: name)
    }

    func drop(_ part: PartitionID, epoch: PartitionEpoch) {
        loaded.withLock { $0[part] = nil }
        checker.stop(part, by: name)
    }
}
