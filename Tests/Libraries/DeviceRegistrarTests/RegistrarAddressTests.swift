import Foundation
import RequestQueue
import Testing

@testable import DeviceRegistrar

/// The tokens of other purposes than the alerts of the app.
@Suite struct RegistrarAddressTests {
    typealias Machine = RegistrarMachine

    private static let profile = DeviceProfile(user: "ada")
    private static let order = TokenPurpose.updating("order-1", type: "Delivery")

    private static func token(_ number: Int) throws -> PushToken {
        try #require(PushToken(Data([UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8), 7])))
    }

    private func sent(_ actions: [Machine.Action]?) -> Machine.Operation? {
        for case .send(let operation, _) in actions ?? [] { return operation }
        return nil
    }

    /// Answers requests until none is under way, and returns them.
    private func settle(_ machine: inout Machine, status: Int = 201, wall: Int64 = 0) -> [Machine.Operation] {
        var all: [Machine.Operation] = []
        while let operation = machine.current {
            all.append(operation)
            _ = machine.answered(Machine.Answer(status: status, device: "d"), now: .zero, wall: wall)
        }
        return all
    }

    private func machine(sharing: Bool = true) throws -> Machine {
        var machine = Machine(RegistrarMemory(scope: "s"), seed: 1, sharesProfile: sharing)
        _ = machine.wanted(try Self.token(1), profile: Self.profile, now: .zero, wall: 0)
        _ = settle(&machine)
        return machine
    }

    @Test func `A token of another purpose is registered once, and replaced by the next`() throws {
        var machine = try machine()
        let (first, second) = (try Self.token(2), try Self.token(3))
        #expect(
            sent(machine.wanted(first, for: Self.order, now: .zero, wall: 0))
                == .registerAddress(Self.order, first, Self.profile, replaces: nil))
        _ = settle(&machine)
        #expect(machine.isSettled(wall: 20))
        #expect(sent(machine.wanted(first, for: Self.order, now: .zero, wall: 20)) == nil)
        // The next run of the app reads the memory.
        let stored = try JSONEncoder().encode(machine.memory)
        var next = Machine(
            try JSONDecoder().decode(RegistrarMemory.self, from: stored), seed: 2, sharesProfile: true)
        _ = next.wanted(try Self.token(1), profile: Self.profile, now: .zero, wall: 20)
        #expect(next.isSettled(wall: 20))
        #expect(
            sent(next.wanted(second, for: Self.order, now: .zero, wall: 20))
                == .registerAddress(Self.order, second, Self.profile, replaces: first))
        _ = settle(&next)
        // After a day, all of them are registered again.
        let later = 20 + Machine.refreshInterval
        _ = next.elapsed(now: .zero, wall: later)
        #expect(settle(&next, wall: later).count == 2)
    }

    @Test func `In an installation, one registration states a new profile`() throws {
        for sharing in [true, false] {
            var machine = try machine(sharing: sharing)
            _ = machine.wanted(try Self.token(2), for: .voip, now: .zero, wall: 0)
            _ = machine.wanted(try Self.token(3), for: .starting("Delivery"), now: .zero, wall: 0)
            #expect(settle(&machine).count == 2)
            _ = machine.wanted(try Self.token(1), profile: DeviceProfile(user: ""), now: .zero, wall: 20)
            #expect(settle(&machine).count == (sharing ? 1 : 3))
        }
    }

    @Test func `What is removed is removed on the server, with what it had before`() throws {
        var machine = try machine()
        _ = machine.wanted(try Self.token(2), for: Self.order, now: .zero, wall: 0)
        _ = settle(&machine)
        #expect(
            sent(machine.removalWanted(of: Self.order, now: .zero, wall: 0)) == .remove(try Self.token(2)))
        _ = settle(&machine)
        #expect(machine.memory.addresses == nil && machine.isSettled(wall: 10))
        #expect(machine.removalWanted(of: .widget, now: .zero, wall: 0).isEmpty)

        _ = machine.wanted(try Self.token(4), for: .widget, now: .zero, wall: 0)
        _ = machine.wanted(try Self.token(5), for: .voip, now: .zero, wall: 0)
        _ = settle(&machine)
        _ = machine.removalWanted(now: .zero, wall: 0)
        let removed = settle(&machine)
        #expect(Set(removed.map { "\($0)" }).count == 3 && machine.status == .unregistered)
    }

    @Test func `After a removal, a token that comes is that of nobody, also if it is the same`() throws {
        for number in [2, 3] {
            var machine = try machine()
            _ = machine.wanted(try Self.token(2), for: .voip, now: .zero, wall: 0)
            _ = settle(&machine)
            _ = machine.removalWanted(now: .zero, wall: 0)
            if number == 3 { _ = settle(&machine) }
            let token = try Self.token(number)
            _ = machine.wanted(token, for: .voip, now: .zero, wall: 0)
            let operations = settle(&machine)
            #expect(operations.last == .registerAddress(.voip, token, DeviceProfile(), replaces: nil))
            // The former user is gone from the server before: a registration without a user would keep it.
            #expect(number == 3 || operations.dropLast().contains(.remove(token)))
        }
    }

    @Test func `Tokens whose answers were lost are removed, with and without an installation`() throws {
        for sharing in [true, false] {
            var machine = try machine(sharing: sharing)
            _ = machine.wanted(try Self.token(2), for: .voip, now: .zero, wall: 0)
            _ = settle(&machine)
            _ = machine.wanted(try Self.token(3), for: .voip, now: .zero, wall: 0)
            _ = machine.lost(now: .zero)
            _ = machine.wanted(try Self.token(4), for: .voip, now: .zero, wall: 0)
            _ = machine.retryWanted(now: .zero, wall: 0)
            let operations = settle(&machine)
            #expect(
                operations.first
                    == .registerAddress(.voip, try Self.token(4), Self.profile, replaces: try Self.token(2)))
            #expect(operations.contains(.remove(try Self.token(3))) && machine.isSettled(wall: 10))
        }
    }

    @Test func `A refused token blocks nothing, and the next one is tried`() throws {
        var machine = try machine()
        _ = machine.wanted(try Self.token(2), for: Self.order, now: .zero, wall: 0)
        #expect(settle(&machine, status: 422).count == 1)
        #expect(machine.isSettled(wall: 10) && machine.status == .registered(device: "d"))
        #expect(sent(machine.wanted(try Self.token(3), for: Self.order, now: .zero, wall: 10)) != nil)
        _ = settle(&machine)
        // A server that fails is asked again later.
        _ = machine.wanted(try Self.token(4), for: .voip, now: .zero, wall: 10)
        _ = machine.answered(Machine.Answer(status: 503), now: .zero, wall: 10)
        #expect(!machine.isSettled(wall: 10) && machine.nextTime != nil)
        #expect(sent(machine.retryWanted(now: .zero, wall: 10)) != nil)
    }

    @Test func `The number of tokens is bounded`() throws {
        var machine = try machine()
        for number in 0..<10_000 {
            let purpose = TokenPurpose.updating("a\(number)", type: "Delivery")
            let actions = machine.wanted(try Self.token(number + 10), for: purpose, now: .zero, wall: 0)
            #expect((actions != nil) == (number < Machine.maxAddresses))
        }
        #expect(settle(&machine).count == Machine.maxAddresses)
        _ = machine.removalWanted(now: .zero, wall: 0)
        #expect(settle(&machine).count == Machine.maxAddresses + 1)
    }

    @Test func `The requests name the purpose and the installation`() throws {
        let operation = Machine.Operation.registerAddress(
            Self.order, try Self.token(2), DeviceProfile(user: "ada", timeZone: "Europe/Berlin"),
            replaces: try Self.token(1))
        let (route, body) = try RegistrarMessages.encode(operation, installation: "phone")
        #expect(route == "devices")
        #expect(
            String(decoding: body, as: UTF8.self)
                == #"{"activity":"order-1","activity_type":"Delivery","installation":"phone","kind":"activity","#
                + #""replaces":"010007","time_zone":"Europe\/Berlin","token":"020007","user":"ada"}"#)
        let plain = try RegistrarMessages.encode(.register(try Self.token(1), DeviceProfile(), replaces: nil))
        #expect(String(decoding: plain.body, as: UTF8.self) == #"{"token":"010007"}"#)
    }
}
