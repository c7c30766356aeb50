import PushLogic
import PushLoop
import PushModel
import PushPostgreSQL
import PushTime
import TestSupport
import TestTraits
import Testing

@testable import PushStore

/// Nodes with a ledger each: what producers were told stays true while partitions change their owners.
@Suite(.waits) struct ClusterLedgerTests {
    /// A ledger whose partitions follow the leases of its node.
    private struct Node {
        let ledger: LedgerNode
        let shell: ClusterShell
        let permit = SendingPermit()
        let tables = EventRecorder<OwnerTable>()
        let directory: TemporaryDirectory

        init(_ name: String, _ options: PostgreSQLOptions) async throws {
            let shell = Locked<ClusterShell?>(nil)
            ledger = try await LedgerNode(options) { settings in
                settings.node = name
                settings.lost = { part, epoch in shell.withLock { $0 }?.fenced(part, epoch: epoch) }
            }
            directory = try TemporaryDirectory()
            var settings = ClusterMember.settings(name, options, lease: .seconds(2), in: directory)
            settings.hooks.owners = { [tables] in tables.record($0) }
            let opened = try await ClusterShell.open(settings, host: ledger.ledger, permit: permit)
            shell.withLock { $0 = opened }
            self.shell = opened
        }

        /// Waits until the node holds this number of partitions, and serves all that it has ever held.
        func waitForShare(_ count: Int) async {
            await tables.wait { $0.last?.owners.count { $0 == .this } == count }
            await ledger.listener.heard.wait { heard in
                var open: Set<Int> = []
                for event in heard {
                    switch event {
                    case .opened(let part, _): open.insert(part)
                    case .closed(let part): open.remove(part)
                    case .accepted, .committed, .suspended: break
                    }
                }
                return open.count == count
            }
        }
    }

    private static let requests = (0..<80).map { push("m\($0)") }

    /// Sends each request to both nodes, as a producer does that repeats it elsewhere. Returns the answer of the owner.
    private static func accept(_ a: Node, _ b: Node) async -> [Acceptance] {
        zip(await a.ledger.accept(requests), await b.ledger.accept(requests)).map { one, other in
            if case .failed = one { other } else { one }
        }
    }

    @Test func `After a node is killed, its messages are known to the next owner, and it can write nothing`()
        async throws
    {
        let options = try await SharedPostgreSQL.shared.store(parts: 8, at: .current())
        let (a, b) = (try await Node("a", options), try await Node("b", options))
        await a.waitForShare(4)
        await b.waitForShare(4)
        let accepted = await Self.accept(a, b).compactMap(\.seq)
        #expect(Set(accepted).count == 80)
        await a.shell.abandon()
        await b.waitForShare(8)
        let known = await b.ledger.accept(Self.requests)
        #expect(known == accepted.map { .duplicate(seq: $0) })
        // The ledger of the killed node does not know it yet.
        for answer in await a.ledger.accept((100..<140).map { push("m\($0)") }) {
            #expect(answer.seq == nil, "\(answer)")
        }
        await b.shell.close()
        await a.ledger.ledger.close()
        await b.ledger.ledger.close()
    }

    @Test func `A node that drains gives its messages to the next owner`() async throws {
        let options = try await SharedPostgreSQL.shared.store(parts: 8, at: .current())
        let (a, b) = (try await Node("a", options), try await Node("b", options))
        await a.waitForShare(4)
        await b.waitForShare(4)
        let accepted = await Self.accept(a, b).compactMap(\.seq)
        #expect(Set(accepted).count == 80)
        #expect(await a.shell.drain())
        await b.waitForShare(8)
        #expect(await b.ledger.accept(Self.requests) == accepted.map { .duplicate(seq: $0) })
        await a.shell.close()
        await b.shell.close()
        await a.ledger.ledger.close()
        await b.ledger.ledger.close()
    }

    @Test func `A pause on one node is known on the others`() async throws {
        let options = try await SharedPostgreSQL.shared.store(parts: 2, at: .current())
        let seen = EventRecorder<[AppID: WallTime]>()
        let a = try await LedgerNode(options) { $0.sharedRead = { seen.record($0.paused) } }
        let b = try await LedgerNode(options) { _ in }
        let app = try #require(AppID("shop"))
        for time in [WallTime(milliseconds: 1000), nil] {
            let fault = await withCheckedContinuation { continuation in
                b.ledger.setPaused(app, since: time) { continuation.resume(returning: $0) }
            }
            #expect(fault == nil)
            await seen.wait { $0.last?[app] == time && !$0.isEmpty }
        }
        await a.ledger.close()
        await b.ledger.close()
    }
}
