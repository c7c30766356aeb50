import PushLoop
package import PushModel
package import PushTime
package import PushWire

/// The ledger as producers see it: requests for a partition of this node go to its own ledger, and the others to the node
/// that owns the partition. Whatever prevents that makes a request fail, so that the producer is asked to repeat it, and
/// the owner recognizes the repetition.
package final class ForwardingLedger: Ledger {
    private let own: any Ledger
    private let map: PartitionMap
    private let owners: @Sendable () -> OwnerTable
    private let peers: ClusterPeers

    /// - Parameter owners: Returns the owners as they are known now. It is called for each group and must not wait.
    package init(
        _ own: any Ledger, map: PartitionMap, owners: @escaping @Sendable () -> OwnerTable, peers: ClusterPeers
    ) {
        self.own = own
        self.map = map
        self.owners = owners
        self.peers = peers
    }

    package func accept(_ group: [PushRequest], reply: @escaping @Sendable ([Acceptance]) -> Void) {
        let table = owners()
        var mine: [Int] = []
        var orphans: [Int] = []
        var others: [NodeID: [Int]] = [:]
        for (place, request) in group.enumerated() {
            switch table[map.partition(of: request)] {
            case .this: mine.append(place)
            case .nobody: orphans.append(place)
            case .other(let node, _): others[node, default: []].append(place)
            }
        }
        if mine.count == group.count { return own.accept(group, reply: reply) }
        let answer = GroupAnswer(count: group.count, reply: reply)
        for (node, places) in others {
            peers.accept(places.map { group[$0] }, at: node) { answers in answer.take(answers, at: places) }
        }
        if !mine.isEmpty {
            own.accept(mine.map { group[$0] }) { [mine] answers in answer.take(answers, at: mine) }
        }
        answer.fail(Self.orphan, at: orphans)
    }

    static let orphan = "no node of the cluster owns the partition at this moment; repeat the request"

    package func cancel(_ requests: [CancelRequest], reply: @escaping @Sendable ([Cancellation]) -> Void) {
        guard let part = map.partition(ofAll: requests) else { return cancelEach(requests[...], reply: reply) }
        let take: @Sendable ([Cancellation]) -> Void = { answers in
            if self.map.count == 1 || answers.contains(where: \.isFailure) || Self.isWhole(answers) {
                return reply(answers)
            }
            self.cancelActivities(requests, besides: part, answers, reply: reply)
        }
        switch owners()[part] {
        case .this: own.cancel(requests, reply: take)
        case .nobody: reply(requests.map { _ in .failed(Self.orphan) })
        case .other(let node, _): peers.cancel(requests, at: node, reply: take)
        }
    }

    /// Whether a message to devices or users was cancelled. It is in the part of its id as a whole.
    private static func isWhole(_ answers: [Cancellation]) -> Bool {
        var isCancelled = false
        for case .cancelled(let counts) in answers {
            if counts.isOfActivities { return false }
            isCancelled = true
        }
        return isCancelled
    }

    /// Cancels messages to Live Activities, which are in the parts of the activities' names: any part may have some.
    ///
    /// - Parameter answers: what became of the messages in the part of the id.
    private func cancelActivities(
        _ requests: [CancelRequest], besides part: PartitionID, _ answers: [Cancellation],
        reply: @escaping @Sendable ([Cancellation]) -> Void
    ) {
        let table = owners()
        var mine: [Int] = []
        var others: [NodeID: [Int]] = [:]
        var hasOrphans = false
        for number in 0..<map.count where number != part.number {
            switch table[PartitionID(remainder: UInt32(number), of: map.count)] {
            case .this: mine.append(number)
            case .nobody: hasOrphans = true
            case .other(let node, _): others[node, default: []].append(number)
            }
        }
        // At least one call follows, because a ledger has several parts.
        let joined = Locked(
            JoinedCancellations(answers, calls: others.count + (mine.isEmpty ? 0 : 1) + (hasOrphans ? 1 : 0)))
        let take: @Sendable ([Cancellation]) -> Void = { others in
            if let all = joined.withLock({ $0.take(others) }) { reply(all) }
        }
        for (node, parts) in others { peers.cancel(requests.map { $0.within(parts) }, at: node, reply: take) }
        if !mine.isEmpty { own.cancel(requests.map { [mine] in $0.within(mine) }, reply: take) }
        if hasOrphans { take(requests.map { _ in .failed(Self.orphan) }) }
    }

    /// Cancels the messages of several apps one after the other. A store of an earlier version keeps them apart.
    private func cancelEach(
        _ requests: ArraySlice<CancelRequest>, after earlier: [Cancellation] = [],
        reply: @escaping @Sendable ([Cancellation]) -> Void
    ) {
        guard let first = requests.first else { return reply(earlier) }
        cancel([first]) { self.cancelEach(requests.dropFirst(), after: earlier + $0, reply: reply) }
    }

    // MARK: What concerns only the partitions of this node

    package func record(_ deliveries: [DeliveryRecord], completed: [CompletedMessage]) {
        own.record(deliveries, completed: completed)
    }

    package func ended(_ cancels: [CancelEnd], releasing claims: [ClaimPage]) {
        own.ended(cancels, releasing: claims)
    }

    package func note(_ events: [EventDraft], done: (@Sendable (UInt64?) -> Void)?) { own.note(events, done: done) }

    package func claim(_ pages: [ClaimPage], reply: @escaping @Sendable ([[ClaimVerdict]]) -> Void) {
        own.claim(pages, reply: reply)
    }

    package func load(
        _ seqs: [UInt64], reply: @escaping @Sendable (Result<[AcceptedMessage], LedgerFault>) -> Void
    ) {
        own.load(seqs, reply: reply)
    }

    package func due(
        at time: UnixSeconds, limit: Int, reply: @escaping @Sendable (Result<DueMessages, LedgerFault>) -> Void
    ) {
        own.due(at: time, limit: limit, reply: reply)
    }
}
