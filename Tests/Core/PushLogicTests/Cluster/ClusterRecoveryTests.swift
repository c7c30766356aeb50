import PushModel
import PushTime
import TestSupport
import TestTraits
import Testing

@testable import PushLogic

/// The cost of a single event in a calm cluster, for many clusters with different clocks.
@Suite(.waits) struct ClusterRecoveryTests {
    private static let lease: Duration = .seconds(5)
    private static let seeds = UInt64(0)..<12

    /// Runs work for clusters of 2 to 5 nodes that have become calm.
    private func forEachCluster(
        partitions: Int = 16, at location: SourceLocation = #_sourceLocation, _ work: (ClusterWorld) -> Void
    ) async {
        for seed in Self.seeds {
            await pace()
            let world = ClusterWorld(seed: seed, lease: Self.lease, partitions: partitions)
            for number in 0..<(2 + Int(seed % 4)) { world.start("n\(number)") }
            // A node that starts waits for its share, and is given one partition after another.
            world.run(for: .seconds(30))
            world.run(for: .milliseconds(Int(seed) * 83 % 1700))
            expectServed(world, seed, at: location)
            work(world)
            if let fault = world.fault { Issue.record("seed \(seed): \(fault)", sourceLocation: location) }
            world.tearDown()
        }
    }

    private func expectServed(_ world: ClusterWorld, _ seed: UInt64, at location: SourceLocation) {
        #expect(!world.senders().contains { $0 == nil }, "seed \(seed)", sourceLocation: location)
    }

    /// Returns the time until all partitions are served.
    private func timeUntilServed(_ world: ClusterWorld, limit: Duration) -> Duration {
        var passed: Duration = .zero
        while passed < limit, world.fault == nil, world.senders().contains(where: { $0 == nil }) {
            world.run(for: .milliseconds(10))
            passed += .milliseconds(10)
        }
        return passed
    }

    private func shares(_ world: ClusterWorld) -> [Int] {
        let senders = world.senders()
        return world.running.filter { $0.machine.isMember }.map { process in senders.count { $0 === process } }
    }

    @Test func `The partitions of a killed node are served within two leases, and nothing else moves`() async {
        var longest: Duration = .zero
        await forEachCluster { world in
            let moves = world.handOvers
            let victim = world.running[world.number(in: 0...(world.running.count - 1))]
            victim.kill()
            let time = timeUntilServed(world, limit: Self.lease * 3)
            longest = max(longest, time)
            #expect(time <= Self.lease * 2 + world.loadTime)
            // The last renewal was at most a third of the lease before, by a slow clock.
            #expect(time >= Self.lease / 2, "a node was declared dead before its lease ended")
            world.run(for: Self.lease * 3)
            #expect(world.handOvers == moves)
            #expect((shares(world).max() ?? 0) - (shares(world).min() ?? 0) <= 1)
        }
        #expect(longest < Self.lease * 1.5, "the documented time is too short: \(longest)")
    }

    @Test func `A node that restarts serves its share again at once, and nothing moves`() async {
        await forEachCluster { world in
            let (moves, takeovers) = (world.handOvers, world.takeovers)
            let victim = world.running[world.number(in: 0...(world.running.count - 1))]
            victim.kill()
            world.run(for: .milliseconds(100))
            world.start(victim.id.name)
            #expect(timeUntilServed(world, limit: Self.lease) < .seconds(2))
            world.run(for: Self.lease * 3)
            #expect(world.handOvers == moves)
            #expect(world.takeovers == takeovers)
        }
    }

    @Test func `A node that joins is given its share and no more`() async {
        await forEachCluster(partitions: 64) { world in
            let moves = world.handOvers
            world.start("new")
            world.run(for: .seconds(45))
            let members = world.running.count
            #expect(world.handOvers > moves)
            #expect(world.handOvers - moves <= (64 + members - 1) / members)
            #expect(shares(world).allSatisfy { $0 == 64 / members || $0 == 64 / members + 1 })
        }
    }

    @Test func `A node that drains hands over what it has, and each partition moves once`() async {
        await forEachCluster { world in
            let moves = world.handOvers
            let leaver = world.running[0]
            let share = world.senders().count { $0 === leaver }
            leaver.input(leaver.machine.drain(now: leaver.clock))
            world.run(for: Self.lease * 2)
            #expect(!leaver.isAlive)
            #expect(world.handOvers - moves == share)
            expectServed(world, 0, at: #_sourceLocation)
        }
    }

    @Test func `After an outage of the database all nodes resume, and nothing moves or is read again`() async {
        await forEachCluster { world in
            let (moves, takeovers, resumptions) = (world.handOvers, world.takeovers, world.resumptions)
            world.crash(for: 1.5...3)
            world.run(for: Self.lease * 1.4)
            #expect(!world.senders().contains { $0 != nil }, "a node sends without a lease")
            world.run(for: Self.lease * 5)
            expectServed(world, 0, at: #_sourceLocation)
            #expect(world.handOvers == moves)
            #expect(world.takeovers == takeovers)
            #expect(world.resumptions == resumptions + 16)
        }
    }

    @Test func `After a promotion within the lease nobody stops, whatever the clock of the new primary`() async {
        await forEachCluster { world in
            let (moves, takeovers, resumptions) = (world.handOvers, world.takeovers, world.resumptions)
            world.promote()
            for _ in 0..<200 {
                world.run(for: .milliseconds(50))
                #expect(!world.senders().contains { $0 == nil })
            }
            #expect(world.handOvers == moves)
            #expect(world.takeovers == takeovers)
            #expect(world.resumptions == resumptions)
        }
    }

    @Test func `Shares are reached in a bounded number of moves when many nodes join at once`() async {
        for seed in UInt64(0)..<10 {
            await pace()
            let world = ClusterWorld(seed: seed, lease: Self.lease, partitions: 64)
            world.start("n0")
            world.run(for: Self.lease)
            let count = 3 + Int(seed % 5)
            for number in 1..<count { world.start("n\(number)") }
            world.run(for: .seconds(90))
            #expect(world.fault == nil)
            #expect(shares(world).allSatisfy { $0 == 64 / count || $0 == 64 / count + 1 })
            // The surplus of the first node, once: only one node gives, and it reads the tables after each move.
            let surplus = 64 - (64 + count - 1) / count
            #expect(world.handOvers == surplus, "seed \(seed), \(count) nodes")
            world.tearDown()
        }
    }

    @Test func `A calm cluster asks the database seven times in a lease`() async {
        await forEachCluster { world in
            let operations = world.operations
            world.run(for: Self.lease * 10)
            // Three renewals and three reads, by clocks that may be a fifth too fast.
            #expect(world.operations - operations <= world.running.count * 10 * 8)
            #expect(world.operations - operations >= world.running.count * 10 * 4)
        }
    }
}
