import PushLoop
import PushModel

/// A ledger in memory whose replies a test controls. It remembers ids as the real one does.
final class IntakeLedger: Ledger {
    private struct State {
        var holds = false
        var failsWith: String?
        var seq: UInt64 = 0
        var known: [String: (seq: UInt64, payload: [UInt8])] = [:]
        var groups: [[PushRequest]] = []
        var pending: [(group: [PushRequest], reply: @Sendable ([Acceptance]) -> Void)] = []
        var notes: [EventDraft] = []
        var cancels: [CancelRequest] = []
        /// Those for other parts than those of their ids.
        var elsewhere: [CancelRequest] = []
        var heldCancels: [(requests: [CancelRequest], reply: @Sendable ([Cancellation]) -> Void)] = []
        var waiters: [(isMet: @Sendable (Facts) -> Bool, resume: CheckedContinuation<Void, Never>)] = []

        var facts: Facts {
            Facts(groups: groups.map(\.count), ids: groups.flatMap { $0.map(\.message.id.text) }, notes: notes.count)
        }
    }

    struct Facts: Sendable {
        /// The sizes of the groups.
        let groups: [Int]
        let ids: [String]
        let notes: Int
    }

    private let state = Locked(State())

    var facts: Facts { state.withLock { $0.facts } }
    var requests: [PushRequest] { state.withLock { $0.groups.flatMap { $0 } } }
    var notes: [EventDraft] { state.withLock { $0.notes } }

    /// Holds all replies until ``release()``.
    func hold() { state.withLock { $0.holds = true } }

    func fail(_ text: String?) { state.withLock { $0.failsWith = text } }

    func release() {
        let pending = state.withLock { state in
            state.holds = false
            defer { state.pending = [] }
            return state.pending
        }
        for (group, reply) in pending { reply(decide(group)) }
        let cancels = state.withLock { state in
            defer { state.heldCancels = [] }
            return state.heldCancels
        }
        for (requests, reply) in cancels { reply(requests.map(decide)) }
    }

    func wait(until isMet: @escaping @Sendable (Facts) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if isMet(state.facts) { return true }
                state.waiters.append((isMet, continuation))
                return false
            }
            if isOver { continuation.resume() }
        }
    }

    /// Changes the state and resumes the waiters whose condition is met. `accept` decides within the change whether its
    /// reply is held; a later check could reply to a group to which `release` has already replied.
    private func changed<Value: Sendable>(_ change: (inout State) -> Value) -> Value {
        let (value, met) = state.withLock { state in
            let value = change(&state)
            guard !state.waiters.isEmpty else { return (value, [CheckedContinuation<Void, Never>]()) }
            let facts = state.facts
            defer { state.waiters.removeAll { $0.isMet(facts) } }
            return (value, state.waiters.filter { $0.isMet(facts) }.map(\.resume))
        }
        for waiter in met { waiter.resume() }
        return value
    }

    private func decide(_ group: [PushRequest]) -> [Acceptance] {
        state.withLock { state in
            if let text = state.failsWith { return group.map { _ in .failed(text) } }
            let withheld = Self.withheld(of: group, state.known)
            return group.enumerated().map { place, request in
                let message = request.message
                if withheld.contains(place) { return .withheld }
                if message.id.text.hasPrefix("crowded") { return .crowded }
                let key = "\(message.app)/\(message.id)"
                if let known = state.known[key] {
                    return known.payload == message.payload ? .duplicate(seq: known.seq) : .conflict(seq: known.seq)
                }
                if message.expiry.isPast(at: .current()) { return .expired }
                state.seq += 1
                state.known[key] = (state.seq, message.payload)
                return .accepted(seq: state.seq)
            }
        }
    }

    /// Returns the places of the new requests to families of which another member is in conflict.
    private static func withheld(
        of group: [PushRequest], _ known: [String: (seq: UInt64, payload: [UInt8])]
    ) -> Set<Int> {
        var withheld: Set<Int> = []
        var start = 0
        for end in 1..<(group.count + 1) where end == group.count || !group[end].isJoined {
            let old = (start..<end).map { known["\(group[$0].message.app)/\(group[$0].message.id)"] }
            let isRefused = zip(start..<end, old).contains { place, old in
                old.map { $0.payload != group[place].message.payload } ?? false
            }
            if isRefused { for (place, old) in zip(start..<end, old) where old == nil { withheld.insert(place) } }
            start = end
        }
        return withheld
    }

    var cancels: [CancelRequest] { state.withLock { $0.cancels } }
    var elsewhere: [CancelRequest] { state.withLock { $0.elsewhere } }

    private func decide(_ request: CancelRequest) -> Cancellation {
        state.withLock { state in
            if let text = state.failsWith { return .failed(text) }
            if request.parts != nil {
                let isKnown = request.id.text.hasPrefix("activities")
                return isKnown ? .cancelled(.ofActivities(sent: 1, cancelled: 2)) : .unknown
            }
            guard state.known["\(request.app)/\(request.id)"] != nil else { return .unknown }
            let isLate = request.id.text.hasPrefix("late") || request.app.name.hasPrefix("late")
            return isLate ? .tooLate : .cancelled(CancelCounts(sent: 3, cancelled: 4))
        }
    }

    // MARK: Ledger

    func cancel(_ requests: [CancelRequest], reply: @escaping @Sendable ([Cancellation]) -> Void) {
        let isHeld = changed { state in
            if requests.first?.parts == nil { state.cancels += requests } else { state.elsewhere += requests }
            if state.holds { state.heldCancels.append((requests, reply)) }
            return state.holds
        }
        if !isHeld { reply(requests.map(decide)) }
    }

    func ended(_ cancels: [CancelEnd], releasing claims: [ClaimPage]) { preconditionFailure("not for intake") }

    func accept(_ group: [PushRequest], reply: @escaping @Sendable ([Acceptance]) -> Void) {
        let isHeld = changed { state in
            state.groups.append(group)
            if state.holds { state.pending.append((group, reply)) }
            return state.holds
        }
        if !isHeld { reply(decide(group)) }
    }

    func note(_ events: [EventDraft], done: (@Sendable (UInt64?) -> Void)?) {
        changed { $0.notes += events }
        done?(1)
    }

    func record(_ deliveries: [DeliveryRecord], completed: [CompletedMessage]) { preconditionFailure("not for intake") }
    func claim(_ pages: [ClaimPage], reply: @escaping @Sendable ([[ClaimVerdict]]) -> Void) {
        preconditionFailure("not for intake")
    }
    func load(_ seqs: [UInt64], reply: @escaping @Sendable (Result<[AcceptedMessage], LedgerFault>) -> Void) {
        preconditionFailure("not for intake")
    }
    func due(at time: UnixSeconds, limit: Int, reply: @escaping @Sendable (Result<DueMessages, LedgerFault>) -> Void) {
        preconditionFailure("not for intake")
    }
}
