import Foundation
import RequestQueue
import Testing

@testable import DeviceRegistrar

/// A random walk of a registrar beside a model of the server, with lost requests, lost answers and restarts.
@Suite struct RegistrarWalkTests {
    typealias Machine = RegistrarMachine

    private static let purposes: [TokenPurpose] = [.voip, .starting("Delivery")]

    /// A token of the app itself (place 0), or of a purpose. No two places have a token in common.
    private static func token(_ place: Int, _ number: Int) throws -> PushToken {
        try #require(PushToken(Data([UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: place)])))
    }

    /// What the server knows, and what it does with a request, whether or not its answer arrives.
    private struct Server {
        var users: [PushToken: String] = [:]
        var seen: Set<SeenReport> = []
        /// The user that the app has stated last.
        var stated: String?

        mutating func carryOut(_ operation: Machine.Operation) {
            if case .register(_, let profile, _) = operation { stated = profile.user ?? stated }
            switch operation {
            case .remove(let token): users[token] = nil
            case .register(let token, let profile, let replaces),
                .registerAddress(_, let token, let profile, let replaces):
                // A property that is absent stays, or is that of the former token.
                let former = replaces.flatMap { users.removeValue(forKey: $0) }.flatMap { $0.isEmpty ? nil : $0 }
                users[token] = profile.user ?? former ?? users[token] ?? ""
            case .report(let reports): seen.formUnion(reports)
            }
        }
    }

    /// What the app has handed in last.
    private struct App {
        var token: PushToken?
        var user: String?
        var addresses: [TokenPurpose: PushToken] = [:]
    }

    private struct Walk {
        var machine: Machine
        var server = Server()
        var app = App()
        var flying: Machine.Operation?
        /// Whether the request under way is from before a removal, which undoes what it does.
        var isUndone = false
        var saved: RegistrarMemory
        var now = Duration.zero
        var wall: Int64 = 0
        var random: Jitter

        init(seed: UInt64) {
            saved = RegistrarMemory(scope: "s")
            machine = Machine(saved, seed: seed)
            random = Jitter(seed: seed)
        }

        mutating func take(_ actions: [Machine.Action]) throws {
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

        /// Hands the token of the app in, with the profile of a user, or with one that leaves the user as it is.
        mutating func register() throws {
            app.user = Bool.random(using: &random) ? "u\(Int.random(in: 0...3, using: &random))" : nil
            app.token = try RegistrarWalkTests.token(0, .random(in: 0...4, using: &random))
            try handIn()
        }

        mutating func handIn() throws {
            guard let token = app.token else { return }
            try take(machine.wanted(token, profile: DeviceProfile(user: app.user), now: now, wall: wall))
        }

        /// Hands the token of a purpose in.
        mutating func registerAddress() throws {
            let place = Int.random(in: 0..<RegistrarWalkTests.purposes.count, using: &random)
            let token = try RegistrarWalkTests.token(place + 1, .random(in: 0...3, using: &random))
            let purpose = RegistrarWalkTests.purposes[place]
            app.addresses[purpose] = token
            let actions = machine.wanted(token, for: purpose, now: now, wall: wall)
            try take(#require(actions))
        }

        mutating func remove() throws {
            app = App()
            server.stated = nil
            isUndone = flying != nil
            try take(machine.removalWanted(now: now, wall: wall))
        }

        mutating func removeAddress() throws {
            let purpose = RegistrarWalkTests.purposes.randomElement(using: &random) ?? .voip
            app.addresses[purpose] = nil
            try take(machine.removalWanted(of: purpose, now: now, wall: wall))
        }

        /// The app ends and starts again; it hands its token in again.
        mutating func restart() throws {
            machine = Machine(saved, seed: random.next())
            try take(machine.elapsed(now: now, wall: wall))
            try handIn()
        }

        mutating func end(_ operation: Machine.Operation) throws {
            flying = nil
            let kind = Int.random(in: 0...5, using: &random)
            if kind < 5 { carryOut(operation) }
            isUndone = false
            switch kind {
            case 0...2: try take(machine.answered(Machine.Answer(status: 200, device: "d"), now: now, wall: wall))
            case 3...4: try take(machine.lost(now: now))
            default: try take(machine.answered(Machine.Answer(status: 503), now: now, wall: wall))
            }
        }

        mutating func carryOut(_ operation: Machine.Operation) {
            let stated = server.stated
            server.carryOut(operation)
            if isUndone { server.stated = stated }
        }

        mutating func step(_ number: Int) throws {
            wall = Int64(number) * 1000
            switch Int.random(in: 0...14, using: &random) {
            case 0...1: try register()
            case 2...3: try registerAddress()
            case 4: try remove()
            case 5: try removeAddress()
            case 6:
                let report = SeenReport(notification: "n\(number)", kind: .opened, at: wall)
                try take(machine.seen(report, now: now, wall: wall))
            case 7 where flying == nil: try restart()
            case 8...12: if let flying { try end(flying) }
            default:
                now += .seconds(Int.random(in: 0...2000, using: &random))
                try take(machine.elapsed(now: now, wall: wall))
            }
        }

        /// Lets the server answer everything.
        mutating func settle() throws {
            for _ in 0..<300 {
                if let operation = flying {
                    flying = nil
                    carryOut(operation)
                    isUndone = false
                    try take(machine.answered(Machine.Answer(status: 200, device: "d"), now: now, wall: wall))
                } else {
                    now += .seconds(4000)
                    try take(machine.elapsed(now: now, wall: wall))
                }
            }
        }
    }

    @Test(arguments: 1...300 as ClosedRange<UInt64>) func `The server has in the end what the app wanted last`(
        _ seed: UInt64
    ) throws {
        var walk = Walk(seed: seed)
        for number in 0..<600 { try walk.step(number) }
        try walk.settle()
        let (machine, app) = (walk.machine, walk.app)
        #expect(machine.isSettled(wall: walk.wall) && machine.memory.seen.isEmpty && !walk.server.seen.isEmpty)
        // No token is left on the server that the app does not have, and none with the user of before a removal,
        // whatever answers were lost.
        let tokens = [app.token].compactMap { $0 } + app.addresses.values
        #expect(Set(walk.server.users.keys) == Set(tokens))
        if let token = app.token { #expect(walk.server.users[token] == app.user ?? walk.server.stated ?? "") }
        // Without an installation, each address keeps the user that it had if the app states none.
        if app.user != nil || app.token == nil {
            #expect(app.addresses.values.allSatisfy { walk.server.users[$0] == app.user ?? "" })
        }
        #expect(machine.memory.removals.isEmpty && machine.memory.attempted.isEmpty)
        #expect((machine.memory.addresses ?? []).allSatisfy { $0.attempted == nil })
    }
}
