import Foundation
import RequestQueue
import Testing

@testable import DeviceRegistrar

/// The decisions of the registrar, one input after the other, and a random walk.
@Suite struct RegistrarMachineTests {
    typealias Machine = RegistrarMachine

    private static func token(_ number: Int) throws -> PushToken {
        try #require(PushToken(Data([UInt8(truncatingIfNeeded: number), 0xab])))
    }

    private func machine(_ memory: RegistrarMemory = RegistrarMemory(scope: "s")) -> Machine {
        Machine(memory, seed: 1)
    }

    /// Returns the request that an input starts.
    private func sent(_ actions: [Machine.Action]) -> Machine.Operation? {
        for case .send(let operation, _) in actions { return operation }
        return nil
    }

    private func registered(_ number: Int, profile: DeviceProfile = DeviceProfile(), at: Int64 = 0) throws -> Machine {
        var machine = machine()
        _ = machine.wanted(try Self.token(number), profile: profile, now: .zero, wall: at)
        _ = machine.answered(Machine.Answer(status: 201, device: "d"), now: .zero, wall: at)
        return machine
    }

    @Test func `A device is registered once, and again after a change or a day`() throws {
        let profile = DeviceProfile(user: "ada", tags: ["b", "a", "b"])
        var machine = machine()
        let token = try Self.token(1)
        #expect(machine.status == .unregistered)
        let first = machine.wanted(token, profile: profile, now: .zero, wall: 5)
        #expect(sent(first) == .register(token, DeviceProfile(user: "ada", tags: ["a", "b"]), replaces: nil))
        #expect(first.contains(.show(.pending)))
        let done = machine.answered(Machine.Answer(status: 201, device: "d"), now: .zero, wall: 10)
        #expect(done.contains(.show(.registered(device: "d"))) && done.contains(.save(machine.memory)))
        #expect(
            sent(machine.wanted(token, profile: DeviceProfile(user: "ada", tags: ["a", "b"]), now: .zero, wall: 20))
                == nil)
        // The next run of the app reads the memory.
        var next = Machine(machine.memory, seed: 2)
        #expect(sent(next.wanted(token, profile: profile, now: .zero, wall: 30)) == nil)
        for change in [
            DeviceProfile(user: "bob", tags: ["a", "b"]), DeviceProfile(user: "ada", tags: []),
            DeviceProfile(user: "ada", tags: ["a", "b"], locale: "de"),
            DeviceProfile(user: "ada", tags: ["a", "b"], appVersion: "2"),
        ] {
            var changed = Machine(machine.memory, seed: 2)
            #expect(sent(changed.wanted(token, profile: change, now: .zero, wall: 30)) != nil)
        }
        var later = Machine(machine.memory, seed: 2)
        #expect(sent(later.wanted(token, profile: profile, now: .zero, wall: 10 + Machine.refreshInterval)) != nil)
        var back = Machine(machine.memory, seed: 2)
        #expect(sent(back.wanted(token, profile: profile, now: .zero, wall: 9)) != nil)
    }

    @Test func `A new token replaces the former one`() throws {
        var machine = try registered(1)
        let (old, new) = (try Self.token(1), try Self.token(2))
        let actions = machine.wanted(new, profile: DeviceProfile(), now: .zero, wall: 1)
        #expect(sent(actions) == .register(new, DeviceProfile(), replaces: old))
        _ = machine.answered(Machine.Answer(status: 200, device: "e"), now: .zero, wall: 1)
        #expect(machine.memory.registered?.token == new && machine.isSettled(wall: 1))
    }

    @Test func `A change during a registration follows it`() throws {
        var machine = machine()
        let token = try Self.token(1)
        _ = machine.wanted(token, profile: DeviceProfile(user: "a"), now: .zero, wall: 0)
        #expect(sent(machine.wanted(token, profile: DeviceProfile(user: "b"), now: .zero, wall: 0)) == nil)
        let next = machine.answered(Machine.Answer(status: 201, device: "d"), now: .zero, wall: 0)
        #expect(sent(next) == .register(token, DeviceProfile(user: "b"), replaces: nil))
    }

    @Test func `A removal goes first, survives a restart, and is withdrawn by a registration`() throws {
        var machine = try registered(1)
        let token = try Self.token(1)
        #expect(sent(machine.removalWanted(now: .zero, wall: 0)) == .remove(token))
        _ = machine.lost(now: .zero)
        var next = Machine(machine.memory, seed: 3)
        #expect(next.status == .pending && sent(next.elapsed(now: .zero, wall: 0)) == .remove(token))
        #expect(next.answered(Machine.Answer(status: 200), now: .zero, wall: 0).contains(.show(.unregistered)))
        #expect(next.memory.removals.isEmpty && next.memory.registered == nil)
        var again = Machine(machine.memory, seed: 3)
        #expect(
            sent(again.wanted(token, profile: DeviceProfile(), now: .zero, wall: 0))
                == .register(token, DeviceProfile(), replaces: nil))
        #expect(again.memory.removals.isEmpty)
    }

    @Test func `A removal during a registration follows it`() throws {
        var machine = machine()
        let token = try Self.token(1)
        _ = machine.wanted(token, profile: DeviceProfile(), now: .zero, wall: 0)
        #expect(sent(machine.removalWanted(now: .zero, wall: 0)) == nil)
        let next = machine.answered(Machine.Answer(status: 201, device: "d"), now: .zero, wall: 0)
        #expect(sent(next) == .remove(token) && machine.memory.registered == nil)
    }

    @Test func `Failures pause longer each time, and a change or the app ends the pause`() throws {
        var machine = machine()
        let token = try Self.token(1)
        _ = machine.wanted(token, profile: DeviceProfile(), now: .zero, wall: 0)
        _ = machine.lost(now: .zero)
        let first = try #require(machine.nextTime)
        #expect(first >= .milliseconds(500) && first <= .seconds(1))
        #expect(sent(machine.elapsed(now: first - .nanoseconds(1), wall: 0)) == nil)
        #expect(sent(machine.elapsed(now: first, wall: 0)) != nil)
        _ = machine.answered(Machine.Answer(status: 503, retryAfter: .seconds(100)), now: first, wall: 0)
        #expect(machine.nextTime == first + .seconds(100))
        #expect(sent(machine.retryWanted(now: first, wall: 0)) != nil)
        _ = machine.lost(now: first)
        #expect(sent(machine.wanted(token, profile: DeviceProfile(), now: first, wall: 0)) == nil)
        #expect(sent(machine.wanted(token, profile: DeviceProfile(user: "x"), now: first, wall: 0)) != nil)
    }

    @Test func `A wrong clock is corrected once`() throws {
        var machine = machine()
        _ = machine.wanted(try Self.token(1), profile: DeviceProfile(), now: .zero, wall: 1000)
        let skew = Machine.Answer(status: 401, code: "clock_skew", serverTime: 91_000)
        let actions = machine.answered(skew, now: .zero, wall: 1000)
        guard case .send(_, let offset) = actions.first else {
            Issue.record("\(actions)")
            return
        }
        #expect(offset == 90_000)
        #expect(sent(machine.answered(skew, now: .zero, wall: 1000)) == nil)
        guard case .refused(let problem) = machine.status else {
            Issue.record("\(machine.status)")
            return
        }
        #expect(problem.code == "clock_skew" && machine.nextTime == Machine.refusalPause)
    }

    @Test func `A clock that jumps after a correction is corrected again, and the largest jump does not trap`() throws {
        var machine = try registered(1, at: 1000)
        for (number, jump) in [91_000, -5_000, .max, 0, .min].enumerated() as EnumeratedSequence<[Int64]> {
            let wall: Int64 = jump > 0 ? .min : .max
            let profile = DeviceProfile(user: "u\(number)")
            #expect(sent(machine.wanted(try Self.token(1), profile: profile, now: .zero, wall: wall)) != nil)
            let skew = Machine.Answer(status: 401, code: "clock_skew", serverTime: jump)
            #expect(sent(machine.answered(skew, now: .zero, wall: wall)) != nil)
            _ = machine.answered(Machine.Answer(status: 200, device: "d"), now: .zero, wall: wall)
            #expect(machine.status == .registered(device: "d"))
        }
    }

    @Test(arguments: [401, 403, 404, 409, 422]) func `A refusal is shown, and is tried again later`(_ status: Int)
        throws
    {
        var machine = machine()
        _ = machine.wanted(try Self.token(1), profile: DeviceProfile(), now: .zero, wall: 0)
        let actions = machine.answered(Machine.Answer(status: status, code: "c", detail: "d"), now: .zero, wall: 0)
        #expect(actions == [.show(.refused(RegistrarProblem(status: status, code: "c", detail: "d")))])
        #expect(sent(machine.elapsed(now: Machine.refusalPause, wall: 0)) != nil)
    }

    @Test func `Reports go in batches, once each, and the oldest are dropped`() throws {
        var machine = machine()
        let report = { (number: Int) in SeenReport(notification: "n\(number)", kind: .displayed, at: 1) }
        #expect(sent(machine.seen(report(0), now: .zero, wall: 0)) == .report([report(0)]))
        for number in 1...1100 { _ = machine.seen(report(number), now: .zero, wall: 0) }
        #expect(machine.seen(report(1100), now: .zero, wall: 0).isEmpty)
        #expect(machine.memory.seen.count == 1000 && machine.droppedReports == 101)
        guard case .report(let batch) = sent(machine.answered(Machine.Answer(status: 202), now: .zero, wall: 0)) else {
            Issue.record("no batch")
            return
        }
        #expect(batch == (101...200).map(report))
        // A batch that the server does not understand does not block the next one.
        #expect(
            sent(machine.answered(Machine.Answer(status: 422), now: .zero, wall: 0)) == .report((201...300).map(report))
        )
        _ = machine.answered(Machine.Answer(status: 403), now: .zero, wall: 0)
        #expect(machine.memory.seen.count == 900)
    }

    @Test(arguments: 1...200 as ClosedRange<UInt64>) func `The server has in the end what the app wanted last`(
        _ seed: UInt64
    ) throws {
        var random = Jitter(seed: seed)
        var machine = machine()
        var flying: Machine.Operation?
        var server: [PushToken: DeviceProfile] = [:]
        var seen: Set<SeenReport> = []
        var wanted: (PushToken, DeviceProfile)?
        var now = Duration.zero
        var saved = machine.memory
        func take(_ actions: [Machine.Action]) throws {
            for action in actions {
                switch action {
                case .send(let operation, _):
                    try #require(flying == nil, "two requests at the same time")
                    flying = operation
                case .save(let memory): saved = memory
                case .show(let status): try #require(status == machine.status)
                }
            }
        }
        /// Carries a request out, as the server does, whether or not the answer arrives.
        func carryOut(_ operation: Machine.Operation) {
            switch operation {
            case .remove(let token): server[token] = nil
            case .register(let token, let profile, let replaces):
                if let replaces { server[replaces] = nil }
                server[token] = profile
            case .registerAddress(_, let token, let profile, let replaces):
                if let replaces { server[replaces] = nil }
                server[token] = profile
            case .report(let reports): seen.formUnion(reports)
            }
        }
        for step in 0..<600 {
            let wall = Int64(step) * 1000
            switch Int.random(in: 0...9, using: &random) {
            case 0...1:
                let profile = DeviceProfile(user: "u\(Int.random(in: 0...3, using: &random))")
                let token = try Self.token(Int.random(in: 0...4, using: &random))
                wanted = (token, profile)
                try take(machine.wanted(token, profile: profile, now: now, wall: wall))
            case 2:
                wanted = nil
                try take(machine.removalWanted(now: now, wall: wall))
            case 3:
                try take(
                    machine.seen(SeenReport(notification: "n\(step)", kind: .opened, at: wall), now: now, wall: wall))
            case 4 where flying == nil:
                // The app ends and starts again; it hands its token in again.
                machine = Machine(saved, seed: seed &+ UInt64(step))
                try take(machine.elapsed(now: now, wall: wall))
                if let wanted { try take(machine.wanted(wanted.0, profile: wanted.1, now: now, wall: wall)) }
            case 5...8:
                guard let operation = flying else { continue }
                flying = nil
                let kind = Int.random(in: 0...5, using: &random)
                if kind < 5 { carryOut(operation) }
                switch kind {
                case 0...2: try take(machine.answered(Machine.Answer(status: 200, device: "d"), now: now, wall: wall))
                case 3...4: try take(machine.lost(now: now))
                default: try take(machine.answered(Machine.Answer(status: 503), now: now, wall: wall))
                }
            default:
                now += .seconds(Int.random(in: 0...2000, using: &random))
                try take(machine.elapsed(now: now, wall: wall))
            }
        }
        for _ in 0..<300 {
            if let operation = flying {
                flying = nil
                carryOut(operation)
                try take(machine.answered(Machine.Answer(status: 200, device: "d"), now: now, wall: 600_000))
            } else {
                now += .seconds(4000)
                try take(machine.elapsed(now: now, wall: 600_000))
            }
        }
        #expect(machine.isSettled(wall: 600_000) && machine.memory.seen.isEmpty && !seen.isEmpty)
        // No token is left on the server that the app does not have, whatever answers were lost.
        #expect(server.keys.map(\.hex) == (wanted.map { [$0.0.hex] } ?? []))
        if let wanted { #expect(server[wanted.0] == wanted.1.normalized) }
        #expect(machine.memory.removals.isEmpty && machine.memory.attempted.isEmpty)
    }
}
