import PushAPI
import PushLogic
import PushTime

/// The last changes of the cluster that this node saw, and their counts.
///
/// Changes of many partitions that have the same cause are one entry, so that a node that takes 64 partitions does not
/// push out what happened before.
struct ClusterJournal: Sendable {
    static let maxEntries = 100
    /// The time within which changes of one kind belong together. It is longer than the load of a partition takes.
    private static let span = Duration.seconds(10)

    private(set) var entries: [ClusterView.Event] = []
    private(set) var takeovers: UInt64 = 0
    private(set) var fenced: UInt64 = 0
    private(set) var joinedAt: WallTime?

    mutating func take(_ event: ClusterEvent, at now: WallTime) {
        switch event {
        case .joined: joinedAt = now
        case .takeover: takeovers += 1
        case .fenced: fenced += 1
        case .nameInUse, .left, .lost, .dead, .handover, .stopped, .resumed, .newPrimary, .clockStepped, .halted: break
        }
        let entry = ClusterView.Event(event, at: now)
        if let parts = entry.parts, let last = entries.indices.last, entries[last].event == entry.event,
            entries[last].node == entry.node,
            abs(now.milliseconds(since: entries[last].at)) < Self.span.wholeMilliseconds
        {
            entries[last].parts = Array(Set((entries[last].parts ?? []) + parts)).sorted()
            entries[last].at = now
            return
        }
        entries.append(entry)
        if entries.count > Self.maxEntries { entries.removeFirst() }
    }
}

extension ClusterView.Event {
    fileprivate init(_ event: ClusterEvent, at now: WallTime) {
        switch event {
        case .joined: self.init(.joined, at: now, text: "this node joined the cluster")
        case .nameInUse:
            self.init(.nameInUse, at: now, text: "another process has the name of this node, which waits")
        case .left: self.init(.left, at: now, text: "this node left the cluster")
        case .lost: self.init(.lost, at: now, text: "this node was declared dead, and joins again")
        case .dead(let node, _):
            self.init(.dead, at: now, node: node.name, text: "this node declared \(node) dead: its lease has ended")
        case .takeover(let part, _, let former):
            self.init(
                .takeover, at: now, node: former?.name, parts: [part.number],
                text: "this node took partitions \(former.map { "of \($0)" } ?? "without an owner")")
        case .handover(let part, _, let node):
            self.init(
                .handover, at: now, node: node.name, parts: [part.number],
                text: "this node handed partitions over to \(node)")
        case .fenced(let part, _):
            self.init(.fenced, at: now, parts: [part.number], text: "another node took partitions of this node")
        case .stopped:
            self.init(
                .stopped, at: now, text: "this node stopped sending, because its lease was not renewed in time")
        case .resumed(let count):
            self.init(
                .resumed, at: now,
                text: "this node sends again, for \(count) \(count == 1 ? "partition" : "partitions")")
        case .newPrimary(let timeline):
            self.init(.newPrimary, at: now, text: "the database has a new primary, on timeline \(timeline)")
        case .clockStepped(let step):
            self.init(
                .clockStepped, at: now,
                text: "the clock of the database stepped forward by \(step.wholeMilliseconds) ms")
        case .halted(let halt): self.init(.halted, at: now, text: halt.sentence)
        }
    }
}
