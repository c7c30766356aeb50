import PushAPI
import PushLogic
import PushModel
import Testing

@testable import PushServer

@Suite struct ClusterJournalTests {
    private let b = NodeID("b")!
    private let c = NodeID("c")!

    private func part(_ number: Int) -> PartitionID { PartitionID(number)! }

    @Test func `Partitions that are taken from one node within a moment are one entry`() {
        var journal = ClusterJournal()
        journal.take(.joined(NodeIncarnation(1)!), at: 1000)
        for number in [3, 1, 2] { journal.take(.takeover(part(number), PartitionEpoch(1), from: b), at: 2000) }
        journal.take(.takeover(part(9), PartitionEpoch(1), from: c), at: 2500)
        journal.take(.takeover(part(1), PartitionEpoch(2), from: c), at: 13_000)
        #expect(journal.entries.map(\.event) == [.joined, .takeover, .takeover, .takeover])
        #expect(journal.entries.map(\.parts) == [nil, [1, 2, 3], [9], [1]])
        #expect(journal.entries.map(\.node) == [nil, "b", "c", "c"])
        #expect(journal.takeovers == 5 && journal.fenced == 0 && journal.joinedAt == 1000)
    }

    @Test func `The oldest entries are dropped, and the counts stay`() {
        var journal = ClusterJournal()
        for number in 0..<150 {
            journal.take(.fenced(part(0), PartitionEpoch(1)), at: 1000)
            journal.take(.resumed(partitions: number), at: 1000)
        }
        #expect(journal.entries.count == ClusterJournal.maxEntries && journal.fenced == 150)
        #expect(journal.entries.last?.text == "this node sends again, for 149 partitions")
        #expect(journal.entries.first?.event == .fenced)
    }

    @Test func `Every event has a text without the name of a case`() {
        let events: [ClusterEvent] = [
            .joined(NodeIncarnation(1)!), .nameInUse(NodeIncarnation(1)!), .left, .lost(NodeIncarnation(1)!),
            .dead(b, NodeIncarnation(1)!), .takeover(part(1), PartitionEpoch(1), from: nil),
            .handover(part(1), PartitionEpoch(1), to: b), .fenced(part(1), PartitionEpoch(1)), .stopped,
            .resumed(partitions: 1), .newPrimary(timeline: 2), .clockStepped(by: .seconds(3)),
            .halted(.otherCluster(expected: 1, found: 2)),
        ]
        var journal = ClusterJournal()
        for event in events { journal.take(event, at: 1000) }
        #expect(Set(journal.entries.map(\.event)).count == events.count)
        #expect(journal.entries.allSatisfy { $0.text.contains(" ") && !$0.text.contains("(") })
    }
}
