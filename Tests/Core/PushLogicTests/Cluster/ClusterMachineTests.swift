import PushModel
import PushTime
import Testing

@testable import PushLogic

@Suite struct ClusterMachineTests {
    private typealias Desk = ClusterDesk

    private static func isJoin(_ operation: ClusterOperation) -> Bool {
        if case .join = operation { true } else { false }
    }

    private static func isHandOver(_ operation: ClusterOperation) -> Bool {
        if case .handOver = operation { true } else { false }
    }

    // MARK: Joining and taking

    @Test func `A node joins, raises the epoch, reads, and only then serves`() {
        let desk = Desk()
        desk.join()
        #expect(desk.actions.contains(.raise(.joined(desk.incarnation))))
        #expect(!desk.maySend(0))
        desk.pass(.milliseconds(100))
        desk.answerSnapshot()
        #expect(desk.state(0) == .taking(from: nil, .none))
        desk.answerTake(0, .taken(Desk.epoch(1)))
        #expect(desk.actions.contains(.load(Desk.part(0), Desk.epoch(1))))
        #expect(!desk.maySend(0))
        #expect(desk.writeEpoch(0) == nil)
        desk.load(0, 1)
        #expect(desk.actions.last == .serve(Desk.part(0), Desk.epoch(1)))
        #expect(desk.maySend(0))
        #expect(desk.writeEpoch(0) == Desk.epoch(1))
    }

    @Test func `The incarnation is remembered before the join`() throws {
        let desk = Desk()
        desk.connect()
        desk.answerSnapshot()
        let remembered = try #require(desk.actions.firstIndex(of: .remember(desk.incarnation)))
        let joined = try #require(
            desk.actions.firstIndex { if case .run(_, let operation) = $0 { Self.isJoin(operation) } else { false } })
        #expect(remembered < joined)
    }

    @Test func `A name whose lease lasts is not taken from another process`() {
        let desk = Desk()
        desk.nodes = [Desk.row("a", 99)]
        desk.connect()
        desk.answerSnapshot()
        #expect(desk.actions == [.raise(.nameInUse(NodeIncarnation(99)!))])
        desk.actions = []
        desk.pass(.seconds(2))
        desk.answerSnapshot()
        #expect(desk.actions.isEmpty, "the name is reported once, and no join is tried")
    }

    @Test func `The process that held the lock of the data directory is replaced at once`() {
        let desk = Desk(predecessors: [NodeIncarnation(99)!])
        desk.nodes = [Desk.row("a", 99)]
        desk.connect()
        desk.answerSnapshot()
        #expect(desk.take(Self.isJoin) != nil)
    }

    @Test func `A take without an answer is repeated at the epoch that is read next`() {
        let desk = Desk()
        desk.join()
        desk.pass(.milliseconds(100))
        desk.answerSnapshot()
        desk.answerTake(0, .unknown)
        #expect(desk.state(0) == .foreign(nil, .none))
        // It was committed.
        desk.leases[0] = LeaseRow(part: Desk.part(0), epoch: Desk.epoch(1), node: desk.id)
        desk.pass(.milliseconds(100))
        desk.answerSnapshot()
        #expect(desk.state(0) == .taking(from: desk.id, Desk.epoch(1)))
    }

    // MARK: The lease

    @Test func `A node may send until its lease, counted from before the renewal, less the margin`() {
        let desk = Desk()
        desk.serveBoth()
        desk.pass(.seconds(1.6))
        desk.now = desk.now + .milliseconds(300)
        desk.answerRenewal()
        desk.now = desk.now + .milliseconds(3699)
        #expect(desk.maySend(0))
        desk.now = desk.now + .milliseconds(1)
        #expect(!desk.maySend(0))
    }

    @Test func `Every input looks at the deadline first`() {
        let desk = Desk()
        desk.serveBoth()
        desk.now = desk.now + .seconds(60)
        desk.actions += desk.machine.loaded(Desk.part(0), epoch: Desk.epoch(1), now: desk.now)
        #expect(desk.actions.first == .stopSending)
        #expect(desk.state(0) == .stopped(Desk.epoch(1)))
        #expect(desk.writeEpoch(0) == Desk.epoch(1), "outcomes of deliveries in flight are written")
    }

    @Test func `A late renewal resumes only after the leases are read anew`() {
        let desk = Desk()
        desk.serveBoth()
        desk.pass(.seconds(3.95))
        // The deadline passes. The renewal was carried out, and so was a snapshot that was sent before its result.
        #expect(desk.actions.contains(.stopSending))
        desk.answerRenewal()
        #expect(!desk.maySend(0))
        desk.answerSnapshot()
        #expect(!desk.maySend(0), "the snapshot was sent before the renewal had its answer")
        desk.pass(.milliseconds(100))
        desk.answerSnapshot()
        #expect(desk.maySend(0) && desk.maySend(1))
        #expect(desk.actions.contains(.raise(.resumed(partitions: 2))))
    }

    @Test func `A partition that was taken meanwhile is dropped at the verification`() {
        let desk = Desk()
        desk.serveBoth()
        desk.pass(.seconds(3.95))
        desk.answerRenewal()
        desk.answerSnapshot()
        desk.leases[1] = LeaseRow(part: Desk.part(1), epoch: Desk.epoch(2), node: Desk.node("b"))
        desk.nodes.append(Desk.row("b", 2))
        desk.pass(.milliseconds(100))
        desk.answerSnapshot()
        #expect(desk.maySend(0))
        #expect(!desk.maySend(1))
        #expect(desk.actions.contains(.drop(Desk.part(1), Desk.epoch(1), .fenced)))
        #expect(desk.owner(1) == Desk.node("b"))
    }

    @Test func `A node that was declared dead drops all and joins with another incarnation`() {
        let desk = Desk()
        desk.serveBoth()
        let first = desk.incarnation
        desk.pass(.seconds(1.7))
        desk.answerRenewal(.missed)
        #expect(!desk.maySend(0))
        #expect(desk.writeEpoch(0) == nil)
        #expect(desk.incarnation != first)
        #expect(desk.actions.contains(.drop(Desk.part(0), Desk.epoch(1), .lost)))
        desk.nodes = [Desk.row("a", first.value, .dead, remaining: .seconds(-1))]
        desk.actions = []
        desk.pass(.milliseconds(100))
        desk.answerSnapshot()
        desk.finish(.done, Self.isJoin)
        desk.nodes = [Desk.row("a", desk.incarnation.value)]
        desk.pass(.milliseconds(100))
        desk.answerSnapshot()
        #expect(desk.state(0) == .taking(from: desk.id, Desk.epoch(1)), "its old partitions are raised anew")
    }

    @Test func `A renewal that fails is repeated before the deadline`() {
        let desk = Desk()
        desk.serveBoth()
        desk.pass(.seconds(1.7))
        desk.answerRenewal(.unknown)
        desk.pass(.milliseconds(500))
        desk.answerRenewal()
        desk.pass(.seconds(3))
        #expect(desk.maySend(0))
    }

    // MARK: Other nodes

    @Test func `A node is declared dead only by a clock that was observed for a lease`() {
        let desk = Desk()
        desk.join(beside: [Desk.row("b", 2, remaining: .seconds(-1))])
        desk.leases[0] = LeaseRow(part: Desk.part(0), epoch: Desk.epoch(4), node: Desk.node("b"))
        let declaration = ClusterOperation.declareDead(Desk.node("b"), incarnation: NodeIncarnation(2)!)
        desk.pass(.milliseconds(100))
        desk.answerSnapshot()
        #expect(desk.take { $0 == declaration } == nil)
        desk.live(.seconds(6))
        desk.finish(.done) { $0 == declaration }
        #expect(desk.state(0) == .foreign(Desk.node("b"), Desk.epoch(4)), "the state must be read first")
        desk.nodes[0].state = .dead
        desk.pass(.milliseconds(100))
        desk.answerSnapshot()
        #expect(desk.state(0) == .taking(from: Desk.node("b"), Desk.epoch(4)))
        desk.answerTake(0, .taken(Desk.epoch(5)))
        #expect(desk.actions.contains(.raise(.takeover(Desk.part(0), Desk.epoch(5), from: Desk.node("b")))))
    }

    @Test func `A new connection suspends declarations for a lease`() {
        let desk = Desk()
        desk.join(beside: [Desk.row("b", 2)])
        desk.pass(.milliseconds(100))
        desk.answerSnapshot()
        desk.live(.seconds(6))
        desk.disconnect()
        desk.connect(DatabaseIdentity(system: 1, timeline: 4, cluster: 5, partitions: 2))
        #expect(desk.actions.contains(.raise(.newPrimary(timeline: 4))))
        desk.nodes[0].remaining = .seconds(-100)
        desk.answerRenewal()
        desk.pass(.milliseconds(100))
        desk.answerSnapshot()
        #expect(desk.take { if case .declareDead = $0 { true } else { false } } == nil)
    }

    @Test func `A lease that ends later than any renewal could say is shortened`() {
        let desk = Desk()
        desk.nodes = [Desk.row("b", 2, remaining: .seconds(60))]
        desk.connect()
        let until = Duration.nanoseconds(desk.now.nanoseconds) + .seconds(60)
        desk.answerSnapshot()
        #expect(
            desk.take { $0 == .shorten(Desk.node("b"), incarnation: NodeIncarnation(2)!, until: until) } != nil)
    }

    @Test func `A partition whose owner is not in the table of nodes is taken after two leases`() {
        let desk = Desk()
        desk.leases[0] = LeaseRow(part: Desk.part(0), epoch: Desk.epoch(4), node: Desk.node("gone"))
        desk.join()
        desk.pass(.milliseconds(100))
        desk.answerSnapshot()
        #expect(desk.state(0) == .foreign(Desk.node("gone"), Desk.epoch(4)))
        desk.live(.seconds(8.5))
        #expect(desk.state(0) == .foreign(Desk.node("gone"), Desk.epoch(4)))
        desk.live(.seconds(3))
        #expect(desk.state(0) == .taking(from: Desk.node("gone"), Desk.epoch(4)))
    }

    // MARK: Hand-over

    private static func atHandOver() -> ClusterDesk {
        let desk = ClusterDesk()
        desk.serveBoth()
        desk.nodes.append(ClusterDesk.row("b", 2))
        while desk.now < MonotonicTime(nanoseconds: 1_020_000_000_000) {
            if case .draining = desk.state(1) { break }
            desk.pass(.milliseconds(500))
            if desk.actions.contains(where: { if case .run(_, .renew) = $0 { true } else { false } }) {
                desk.answerRenewal()
            }
            if desk.actions.contains(where: { if case .run(_, .snapshot) = $0 { true } else { false } }) {
                desk.answerSnapshot()
            }
        }
        return desk
    }

    @Test func `A node above its share drains a partition and hands it over`() {
        let desk = Self.atHandOver()
        #expect(desk.actions.contains(.drain(Desk.part(1), Desk.epoch(1))))
        #expect(!desk.maySend(1) && desk.maySend(0))
        #expect(desk.writeEpoch(1) == Desk.epoch(1))
        desk.actions += desk.machine.drained(Desk.part(1), epoch: Desk.epoch(1), now: desk.now)
        #expect(desk.writeEpoch(1) == nil)
        desk.finish(.done) { $0 == .handOver(Desk.part(1), epoch: Desk.epoch(1), to: Desk.node("b")) }
        #expect(desk.actions.contains(.drop(Desk.part(1), Desk.epoch(1), .handedOver)))
        #expect(desk.actions.contains(.hint(Desk.node("b"))))
        #expect(desk.owner(1) == Desk.node("b"))
    }

    @Test func `A move for balance waits until all outcomes are written`() {
        let desk = Self.atHandOver()
        desk.live(.seconds(60))
        #expect(desk.take(Self.isHandOver) == nil)
        desk.actions += desk.machine.drained(Desk.part(1), epoch: Desk.epoch(1), now: desk.now)
        #expect(desk.take(Self.isHandOver) != nil)
    }

    @Test func `A node that leaves ends a drain that takes too long`() {
        let desk = Self.atHandOver()
        desk.live(.seconds(60))
        desk.actions += desk.machine.drain(now: desk.now)
        desk.answerRenewal()
        desk.pass(.milliseconds(1999))
        #expect(desk.take { $0 == .handOver(Desk.part(1), epoch: Desk.epoch(1), to: Desk.node("b")) } == nil)
        desk.pass(.milliseconds(1))
        #expect(desk.take { $0 == .handOver(Desk.part(1), epoch: Desk.epoch(1), to: Desk.node("b")) } != nil)
    }

    @Test(arguments: [ClusterResult.refused, .notSent])
    func `A partition whose hand-over did not happen is read again and served`(result: ClusterResult) {
        let desk = Self.atHandOver()
        desk.actions += desk.machine.drained(Desk.part(1), epoch: Desk.epoch(1), now: desk.now)
        desk.actions = desk.actions.filter { if case .run = $0 { true } else { false } }
        desk.finish(result, Self.isHandOver)
        Self.expectsReading(desk)
    }

    @Test func `A partition stays if the node that was to get it has died`() {
        let desk = Self.atHandOver()
        desk.nodes = desk.nodes.map { $0.id == desk.id ? $0 : ClusterDesk.row("b", 2, .dead) }
        desk.live(.seconds(2))
        desk.actions = []
        desk.actions += desk.machine.drained(Desk.part(1), epoch: Desk.epoch(1), now: desk.now)
        #expect(desk.take(Self.isHandOver) == nil)
        Self.expectsReading(desk)
    }

    @Test func `A partition whose lease ends in its drain is read again after the next renewal`() {
        let desk = Self.atHandOver()
        desk.pass(.seconds(4))
        #expect(desk.actions.contains(.stopSending))
        desk.actions += desk.machine.drained(Desk.part(1), epoch: Desk.epoch(1), now: desk.now)
        desk.load(1, 1)
        #expect(desk.state(1) == .stopped(Desk.epoch(1)))
        desk.live(.seconds(3))
        // A snapshot that was sent before the renewal had its answer proves nothing.
        desk.pass(.milliseconds(200))
        desk.answerSnapshot()
        #expect(desk.maySend(0))
        let own = desk.actions.filter {
            switch $0 {
            case .drain(Desk.part(1), _), .load(Desk.part(1), _), .serve(Desk.part(1), _): true
            default: false
            }
        }
        // The next move begins at once.
        let (part, epoch) = (Desk.part(1), Desk.epoch(1))
        #expect(own.suffix(3) == [.load(part, epoch), .serve(part, epoch), .drain(part, epoch)])
    }

    /// Expects that the partition is dropped and read, and served after that.
    private static func expectsReading(_ desk: ClusterDesk) {
        let epoch = Desk.epoch(1)
        let own = desk.actions.filter {
            switch $0 {
            case .drop, .load, .serve: true
            default: false
            }
        }
        #expect(own == [.drop(Desk.part(1), epoch, .notMoved), .load(Desk.part(1), epoch)])
        #expect(!desk.maySend(1))
        desk.load(1, 1)
        #expect(desk.maySend(1))
        #expect(desk.actions.last { if case .serve = $0 { true } else { false } } == .serve(Desk.part(1), epoch))
    }

    @Test func `After a hand-over without an answer the epoch is raised before the partition is served`() {
        let desk = Self.atHandOver()
        desk.actions += desk.machine.drained(Desk.part(1), epoch: Desk.epoch(1), now: desk.now)
        desk.finish(.unknown, Self.isHandOver)
        #expect(desk.actions.contains(.drop(Desk.part(1), Desk.epoch(1), .unknownOwner)))
        desk.actions = []
        desk.pass(.milliseconds(200))
        desk.answerSnapshot()
        #expect(desk.state(1) == .taking(from: desk.id, Desk.epoch(1)))
    }

    @Test func `A rejected write drops the partition`() {
        let desk = Desk()
        desk.serveBoth()
        desk.actions += desk.machine.fenced(Desk.part(0), epoch: Desk.epoch(1), now: desk.now)
        #expect(desk.actions.contains(.drop(Desk.part(0), Desk.epoch(1), .fenced)))
        #expect(!desk.maySend(0) && desk.maySend(1))
    }

    @Test func `A rejected write of an earlier epoch changes nothing`() {
        let desk = Desk()
        desk.serveBoth()
        desk.actions += desk.machine.fenced(Desk.part(0), epoch: .none, now: desk.now)
        #expect(desk.maySend(0))
    }

    // MARK: The end

    @Test func `The last node that drains gives its partitions up and leaves`() {
        let desk = Desk()
        desk.serveBoth()
        desk.actions += desk.machine.drain(now: desk.now)
        desk.answerRenewal()
        desk.pass(.milliseconds(100))
        desk.answerSnapshot()
        for part in 0...1 {
            #expect(desk.actions.contains(.drain(Desk.part(part), Desk.epoch(1))))
            desk.actions += desk.machine.drained(Desk.part(part), epoch: Desk.epoch(1), now: desk.now)
        }
        #expect(desk.take(Self.isHandOver) == nil)
        desk.finish(.done) { if case .leave = $0 { true } else { false } }
        #expect(desk.actions.suffix(2) == [.raise(.left), .end])
        #expect(desk.nextDeadline == nil)
    }

    @Test func `A node that ends stops sending, drops all and leaves`() {
        let desk = Desk()
        desk.serveBoth()
        desk.actions += desk.machine.end(now: desk.now)
        #expect(desk.actions.first == .stopSending)
        #expect(!desk.maySend(0))
        desk.finish(.unknown) { if case .leave = $0 { true } else { false } }
        #expect(desk.actions.last == .end)
    }

    @Test func `A node without a database ends at once`() {
        let desk = Desk()
        desk.serveBoth()
        desk.disconnect()
        desk.actions += desk.machine.drain(now: desk.now)
        #expect(!desk.hasEnded, "it sends until its lease ends")
        desk.pass(.seconds(5))
        #expect(desk.hasEnded)
        #expect(desk.actions.last == .end)
    }

    // MARK: The wrong database

    @Test(
        arguments: [
            (
                DatabaseIdentity(system: 2, timeline: 3, cluster: 5, partitions: 2),
                ClusterHalt.otherSystem(expected: 1, found: 2)
            ),
            (DatabaseIdentity(system: 1, timeline: 3, cluster: 6, partitions: 2), .otherCluster(expected: 5, found: 6)),
            (
                DatabaseIdentity(system: 1, timeline: 3, cluster: 5, partitions: 3),
                .otherPartitions(expected: 2, found: 3)
            ),
        ])
    func `Another database stops the node for good`(_ found: DatabaseIdentity, _ halt: ClusterHalt) {
        let desk = Desk()
        desk.serveBoth()
        desk.disconnect()
        desk.connect(found)
        #expect(desk.actions.contains(.raise(.halted(halt))))
        #expect(desk.actions.last == .end)
        #expect(!desk.maySend(0))
        #expect(desk.take { _ in true } == nil, "nothing is written to another database")
        #expect(halt.sentence.contains("; "))
    }

    @Test func `A primary of an earlier timeline is not used`() {
        let desk = Desk()
        desk.serveBoth()
        desk.disconnect()
        desk.connect(DatabaseIdentity(system: 1, timeline: 2, cluster: 5, partitions: 2))
        #expect(desk.actions == [.reconnect])
    }

    @Test(arguments: [0, -1, 1025]) func `An impossible number of partitions stops the node`(_ partitions: Int) {
        let desk = Desk()
        desk.connect(DatabaseIdentity(system: 1, timeline: 3, cluster: 5, partitions: partitions))
        #expect(desk.actions == [.raise(.halted(.invalidPartitions(partitions))), .end])
    }

    @Test func `Rows of partitions that the cluster does not have are ignored`() {
        let desk = Desk()
        desk.leases.append(LeaseRow(part: Desk.part(77), epoch: .none, node: nil))
        desk.serveBoth()
        #expect(desk.state(77) == nil)
    }
}
