import Foundation
import RequestQueue
import Testing

@testable import DeviceRegistrar

/// The decisions of the registrar, one input after the other.
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

    @Test func `A removal goes first, survives a restart, and is followed by a registration`() throws {
        var machine = try registered(1)
        let token = try Self.token(1)
        #expect(sent(machine.removalWanted(now: .zero, wall: 0)) == .remove(token))
        _ = machine.lost(now: .zero)
        var next = Machine(machine.memory, seed: 3)
        #expect(next.status == .pending && sent(next.elapsed(now: .zero, wall: 0)) == .remove(token))
        #expect(next.answered(Machine.Answer(status: 200), now: .zero, wall: 0).contains(.show(.unregistered)))
        #expect(next.memory.removals.isEmpty && next.memory.registered == nil)
        // What the server had of the device is gone before it is registered again: an absent user would stay.
        var again = Machine(machine.memory, seed: 3)
        #expect(sent(again.wanted(token, profile: DeviceProfile(), now: .zero, wall: 0)) == .remove(token))
        #expect(again.status == .pending)
        #expect(
            sent(again.answered(Machine.Answer(status: 200), now: .zero, wall: 0))
                == .register(token, DeviceProfile(), replaces: nil))
        #expect(again.memory.removals.isEmpty)
    }

    @Test func `A token that comes back while the answer for the next is lost is registered again`() throws {
        var machine = try registered(1)
        let (old, new) = (try Self.token(1), try Self.token(2))
        _ = machine.wanted(new, profile: DeviceProfile(), now: .zero, wall: 1)
        _ = machine.lost(now: .zero)
        #expect(
            sent(machine.wanted(old, profile: DeviceProfile(), now: .zero, wall: 1))
                == .register(old, DeviceProfile(), replaces: new))
        #expect(sent(machine.answered(Machine.Answer(status: 200, device: "d"), now: .zero, wall: 1)) == nil)
        #expect(machine.isSettled(wall: 1))
    }

    @Test func `After a lost answer, the former token takes the user back before a third token replaces it`() throws {
        var machine = try registered(1)
        let (old, lost, new) = (try Self.token(1), try Self.token(2), try Self.token(3))
        _ = machine.wanted(lost, profile: DeviceProfile(), now: .zero, wall: 1)
        _ = machine.lost(now: .zero)
        #expect(
            sent(machine.wanted(new, profile: DeviceProfile(), now: .zero, wall: 1))
                == .register(old, DeviceProfile(), replaces: lost))
        var refused = machine
        let done = Machine.Answer(status: 200, device: "d")
        #expect(sent(machine.answered(done, now: .zero, wall: 1)) == .register(new, DeviceProfile(), replaces: old))
        #expect(sent(machine.answered(done, now: .zero, wall: 1)) == nil)
        #expect(machine.isSettled(wall: 1))
        // If the server does not take the former token any more, that does not block the one that the app has.
        let refusal = Machine.Answer(status: 422)
        #expect(sent(refused.answered(refusal, now: .zero, wall: 1)) == .remove(lost))
        #expect(sent(refused.answered(done, now: .zero, wall: 1)) == .register(new, DeviceProfile(), replaces: old))
        // Nor does one that the server has refused.
        #expect(sent(refused.answered(refusal, now: .zero, wall: 1)) == nil && refused.memory.attempted.isEmpty)
        #expect(
            sent(refused.wanted(lost, profile: DeviceProfile(), now: .zero, wall: 1))
                == .register(lost, DeviceProfile(), replaces: old))
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
        #expect(actions.last == .show(.refused(RegistrarProblem(status: status, code: "c", detail: "d"))))
        #expect(sent(actions) == nil)
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
}
