import PushModel
import PushTime
import TestSupport

@testable import PushLogic

/// A random walk of a cluster: faults of every kind for some leases, and then a calm in which it must recover.
final class ClusterWalk {
    let world: ClusterWorld
    private let names: [String]
    private let leases: Int
    private var lastJump: Int64 = 0

    init(seed: UInt64, mutation: ModelMutation? = nil, keepsHistory: Bool = false) {
        var random = SeededRandom(seed: seed &+ 77)
        let lease: Duration = [.seconds(2), .seconds(5), .seconds(5), .seconds(10)].randomElement(using: &random)!
        let nodes = [2, 2, 3, 3, 3, 4, 5, 7].randomElement(using: &random)!
        names = (0..<nodes).map { "n\($0)" }
        leases = Int.random(in: 4...8, using: &random)
        world = ClusterWorld(
            seed: seed, lease: lease, partitions: Int.random(in: 3...9, using: &random), mutation: mutation,
            keepsHistory: keepsHistory)
    }

    private var lease: Duration { world.lease }

    /// Walks, and returns the first fault.
    ///
    /// - Parameter recovers: Whether the cluster must recover in the end.
    func run(recovers: Bool = true) -> String? {
        defer { world.tearDown() }
        for name in names { world.start(name) }
        world.run(for: lease * Double(world.number(in: 0...8)) / 4)
        world.loss = 0.02
        let end = world.time + (lease * leases).wholeNanoseconds
        while world.time < end, world.fault == nil {
            if world.number(in: 0...5) == 0 { disturb() }
            for _ in 0..<world.number(in: 0...6) { world.write() }
            world.run(for: lease * Double(world.number(in: 1...20)) / 100)
        }
        if recovers { recover() }
        return world.fault
    }

    private var someProcess: ModelProcess? {
        let running = world.running
        return running.isEmpty ? nil : running[world.number(in: 0...(running.count - 1))]
    }

    private func later(_ range: ClosedRange<Double>, _ work: @escaping () -> Void) {
        world.after((lease * world.seconds(range).inSeconds).wholeNanoseconds, work)
    }

    private func disturb() {
        guard let process = someProcess else {
            world.start(names[world.number(in: 0...(names.count - 1))])
            return
        }
        let world = world
        switch world.number(in: 0...17) {
        case 0, 1:
            world.note { "FAULT \(process.name) is killed" }
            for part in 0..<world.partitions { process.write(part) }
            process.kill()
            let onSameDisk = world.flip()
            later(world.flip() ? 0.01...0.1 : 0.1...2) { world.start(process.id.name, onSameDisk: onSameDisk) }
        case 2, 3, 4:
            world.note { "FAULT \(process.name) is stopped" }
            process.stall()
            later(0.1...2) {
                world.note { "\(process.name) continues" }
                process.resume()
            }
        case 5, 6:
            world.note { "FAULT \(process.name) is cut off" }
            process.isCut = true
            if world.flip() { process.receive { process.disconnect() } }
            later(0.1...2) {
                world.note { "\(process.name) is not cut off" }
                process.isCut = false
            }
        case 7:
            // A clock that jumps hides a step of the database's clock if both happen between two snapshots.
            guard world.time > lastJump + lease.wholeNanoseconds else { return }
            lastJump = world.time
            world.note { "FAULT \(process.name): clock jumps" }
            process.jump(lease * world.seconds(0.1...2).inSeconds)
        case 8: world.crash(for: 0.1...1.5, promotes: world.flip())
        case 9:
            guard world.database.isUp else { return }
            world.note { "FAULT promotion" }
            world.promote()
        case 10:
            world.note { "FAULT \(process.name) drains" }
            process.receive { process.input(process.machine.drain(now: process.clock)) }
            later(0.3...2) { if !process.isAlive { world.start(process.id.name) } }
        case 11:
            world.note { "FAULT \(process.name) ends" }
            process.receive { process.input(process.machine.end(now: process.clock)) }
            later(0.01...2) { if !process.isAlive { world.start(process.id.name) } }
        case 12:
            world.note { "FAULT another \(process.id)" }
            let twin = world.start(process.id.name, onSameDisk: false)
            later(0.5...2) { twin?.kill() }
        case 13, 16:
            world.note { "FAULT \(process.name) ends, and two of its name start at once" }
            if world.flip() { process.receive { process.input(process.machine.end(now: process.clock)) } }
            process.kill()
            later(0.01...2) {
                world.start(process.id.name, onSameDisk: false)
                world.start(process.id.name, onSameDisk: false)
            }
        case 14:
            // A commit that no standby has is visible for a while, and then it is lost.
            world.note { "FAULT \(process.name) is killed, and the primary crashes with a take" }
            process.kill()
            later(0.01...0.1) { world.start(process.id.name) }
            world.database.crashesWithTake = true
            later(0.3...0.8) {
                world.database.crashesWithTake = false
                if world.database.isUp { world.promote() }
            }
        case 15:
            guard world.time > lastJump + lease.wholeNanoseconds else { return }
            lastJump = world.time
            let step = lease * (world.flip() ? 1 : -1) * world.seconds(0.5...3).inSeconds
            world.note { "FAULT the clock of the database steps by \(step)" }
            world.database.stepClock(by: step)
        default:
            guard world.running.count < 8 else { return }
            world.start("x\(world.processes.count)")
        }
    }

    // MARK: Recovery

    private func recover() {
        world.note { "calm" }
        world.loss = 0
        // Work that was planned for later belongs to the faults.
        world.run(for: lease * 2)
        world.database.crashesWithTake = false
        if !world.database.isUp { world.database.restart() }
        for process in world.processes {
            process.isCut = false
            process.resume()
        }
        for name in names where !world.running.contains(where: { $0.id.name == name && !$0.machine.isDraining }) {
            if world.flip() || world.running.isEmpty { world.start(name) }
        }
        // Two leases by the slowest clock, and half of one for connections and answers that were lost.
        world.run(for: lease * 2 * ClusterPolicy(lease: lease).clockRatio + lease / 2 + world.loadTime * 3)
        checkServed("after two leases")
        // Every move takes a drain and a pause.
        world.run(for: (.milliseconds(500) + lease / 10) * (world.partitions + 2) + lease)
        checkBalance()
        let moves = world.handOvers
        let operations = world.operations
        let count = world.running.count
        world.run(for: lease * 3)
        checkServed("in the calm")
        world.check(world.handOvers == moves, "\(world.handOvers - moves) moves in a balanced cluster")
        // Renewals and snapshots by clocks that are a fifth too fast, and one for each that ends in the period.
        let limit = count * (2 * 4 * 3 + 2)
        world.check(
            world.operations - operations <= limit, "\(world.operations - operations) operations in the calm")
    }

    private func checkServed(_ when: String) {
        for (part, sender) in world.senders().enumerated() where sender == nil {
            world.check(false, "nobody serves \(part) \(when)")
        }
    }

    private func checkBalance() {
        let members = world.running.filter { $0.machine.isMember && !$0.machine.isDraining }
        let senders = world.senders()
        guard !members.isEmpty else { return world.check(false, "there are no members") }
        for member in members {
            let count = senders.count { $0 === member }
            let least = world.partitions / members.count
            world.check(
                count == least || count == least + 1 && world.partitions % members.count > 0,
                "\(member.name) serves \(count) of \(world.partitions), with \(members.count) members")
        }
    }
}
