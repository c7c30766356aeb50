import PushModel
import PushTime
import TestSupport
import TestTraits
import Testing

@testable import PushStore

@Suite(.waits) struct ApplyTests {
    private typealias Scene = RegistryScene

    struct Moment: Sendable, CustomTestStringConvertible {
        let name: String
        /// Milliseconds since the device registered.
        let evidence: Int64
        let written: Int64
        let isDeactivated: Bool
        var testDescription: String { name }
    }

    static let moments = [
        Moment(name: "after", evidence: 10, written: 20, isDeactivated: true),
        Moment(name: "the same", evidence: 0, written: 20, isDeactivated: true),
        Moment(name: "before", evidence: -1, written: 20, isDeactivated: false),
        Moment(name: "written before", evidence: 10, written: -1, isDeactivated: false),
        Moment(name: "by a clock that is ahead", evidence: 100_000, written: 20, isDeactivated: true),
    ]

    @Test(arguments: moments, RegistryKind.allCases)
    func `A device that registered after the evidence stays active`(moment: Moment, kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, scene in
            _ = try await registry.register([Scene.registration(1)])
            scene.log.note(
                [Scene.deactivated(Scene.id(1), evidence: scene.now + moment.evidence)], at: scene.now + moment.written)
            try await registry.apply(scene.log.segments)
            #expect(registry.inactive.contains(Scene.id(1)) == moment.isDeactivated)
            let record = try await registry.device(Scene.id(1))
            #expect(record?.isActive == !moment.isDeactivated)
            #expect(record?.reason == (moment.isDeactivated ? "Unregistered" : nil))
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `An event that was not applied before the process ended is applied later`(kind: RegistryKind) async throws {
        try await Scene.run(on: kind) { scene in
            var registry = try await scene.open()
            _ = try await registry.register([Scene.registration(1), Scene.registration(2)])
            scene.now += 10
            scene.log.note([Scene.deactivated(Scene.id(1), evidence: scene.now)], at: scene.now)
            // The registry has received nothing of it.
            await registry.close()
            registry = try await scene.open()
            #expect(registry.inactive.isEmpty)
            let isWhole = try await registry.catchUp(from: scene.log)
            #expect(isWhole && registry.inactive.contains(Scene.id(1)) && !registry.inactive.contains(Scene.id(2)))
            #expect(registry.status.applied == 3)
            await registry.close()
        }
    }

    /// The files are copied while the registry has them open, as a killed process would leave them.
    @Test func `A registry that was killed at any moment recovers the same state`() async throws {
        try await Scene.run { scene in
            var random = SeededRandom(seed: 11)
            let registry = try await scene.open()
            for round in 0..<25 {
                scene.now += 10
                _ = try await registry.register(
                    (0..<5).map { _ in Scene.registration(.random(in: 0..<40, using: &random)) })
                scene.now += 10
                let dead = (0..<4).map { _ in
                    Scene.deactivated(Scene.id(.random(in: 0..<60, using: &random)), evidence: scene.now - 3)
                }
                scene.log.note(dead, at: scene.now)
                let copy = try scene.copied(to: "killed-\(round)")
                try await registry.catchUp(from: scene.log)
                let other = try await copy.open()
                try await other.catchUp(from: scene.log)
                let (here, there) = (
                    try await registry.list(DeviceFilter(), after: nil, limit: 100).devices,
                    try await other.list(DeviceFilter(), after: nil, limit: 100).devices
                )
                #expect(here == there && other.status == registry.status)
                for number in 0..<60 {
                    let id = Scene.id(number)
                    #expect(other.inactive.contains(id) == registry.inactive.contains(id))
                }
                await other.close()
            }
            await registry.close()
        }
    }

    /// The log refuses events, so that they are missing as after a kill between two commits.
    @Test func `Events that a killed process has not published are published after the next start, once`() async throws
    {
        try await Scene.run { scene in
            let registry = try await scene.open()
            _ = try await registry.register((1...4).map { Scene.registration($0) })
            scene.now += 10
            _ = try await registry.deactivate([Scene.id(2)], reason: "by hand")
            _ = try await registry.deactivate([Scene.id(3)], reason: "by hand")
            scene.now += 10
            _ = try await registry.register([Scene.registration(3)])
            let told = scene.log.events.count
            scene.log.state.withLock { $0.refuses = true }
            scene.now = scene.now + .seconds(7200)
            var moved = Scene.registration(6)
            moved.replaces = Scene.token(4)
            _ = try await registry.register([Scene.registration(2), Scene.registration(5), moved])
            #expect(registry.status.unpublished == 4)
            scene.log.state.withLock { $0.refuses = false }

            for isAgain in [false, true] {
                let copy = try scene.copied(to: "killed-\(isAgain)")
                copy.now = scene.now
                let other = try await copy.open()
                try await other.catchUp(from: scene.log)
                let owed = (other as? SQLiteRegistry)?.owed.take(atMost: 100) ?? []
                for event in owed { scene.log.note([event], at: scene.now) }
                await other.close()
                // The second copy was killed, too: by now the log has the events.
                let missing = scene.log.events.dropFirst(told)
                #expect(missing.count == 4)
                #expect(Set(missing.compactMap(\.device)) == Set([2, 4, 5, 6].map { Scene.id($0) }))
                func kind(_ number: Int) -> EventKind? { missing.first { $0.device == Scene.id(number) }?.kind }
                #expect(kind(2) == .deviceReactivated && kind(5) == .deviceRegistered && kind(6) == .deviceRegistered)
                #expect(kind(4) == .deviceDeactivated && missing.contains { $0.reason == "replaced" })
            }
            await registry.close()
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `Calls after the close throw an error`(kind: RegistryKind) async throws {
        try await Scene.run(on: kind) { scene in
            let registry = try await scene.open()
            await registry.close()
            await #expect(throws: (any Error).self) { _ = try await registry.register([Scene.registration(1)]) }
            await #expect(throws: (any Error).self) { _ = try await registry.sightings(of: [Scene.id(1)]) }
        }
    }

    /// The registration is on disk, and the event before it is read again: the newer registration must win.
    @Test(arguments: RegistryKind.allCases)
    func `An event that is applied late does not undo a later registration`(kind: RegistryKind) async throws {
        try await Scene.run(on: kind) { scene in
            var registry = try await scene.open()
            _ = try await registry.register([Scene.registration(1)])
            scene.now += 10
            // The provider's clock is ahead.
            scene.log.note([Scene.deactivated(Scene.id(1), evidence: scene.now + 5000)], at: scene.now)
            scene.now += 1
            _ = try await registry.register([Scene.registration(1)])
            await registry.close()
            registry = try await scene.open()
            try await registry.catchUp(from: scene.log)
            #expect(registry.inactive.isEmpty)
            await registry.close()
        }
    }

    /// The registration comes between the look-up of the device and the event, or before the event is applied. It finds
    /// the device active, so that it tells nobody.
    @Test(arguments: [false, true], RegistryKind.allCases)
    func `Monitors learn of a device that registered beside its deactivation that it is active`(
        isLate: Bool, kind: RegistryKind
    ) async throws {
        try await Scene.open(on: kind) { registry, scene in
            let follower = RegistryFollower(registry, log: scene.log) { Issue.record("\($0)") }
            _ = try await registry.register([Scene.registration(1)])
            scene.now += 10
            let event = Scene.deactivated(Scene.id(1), evidence: scene.now)
            registry.hold([Scene.id(1)])
            for isRegistration in isLate ? [false, true] : [true, false] {
                scene.now += 10
                if isRegistration {
                    #expect(try await registry.register([Scene.registration(1)]).map(\.change) == [.known])
                } else {
                    scene.log.note([event], at: scene.now)
                }
            }
            let deactivation = try #require(scene.log.segments.last)
            follower.committed([deactivation])
            await wait(while: scene.log.events.count < 3)
            #expect(scene.log.events.map(\.kind) == [.deviceRegistered, .deviceDeactivated, .deviceReactivated])
            #expect(scene.log.events.allSatisfy { $0.device == Scene.id(1) && $0.app == Scene.shop })
            #expect(!registry.inactive.contains(Scene.id(1)))
            await follower.stop()
            // The event is read again: nothing more is told.
            var marks: [RecordedDeactivation] = []
            try deactivation.deactivations(since: 0, into: &marks)
            try await (registry as? any DeviceWriter)?.apply(marks)
            await registry.publishOwed()
            #expect(marks.count == 1 && scene.log.events.count == 3)
            // A later one has its effect.
            scene.now += 10
            scene.log.note([Scene.deactivated(Scene.id(1), evidence: scene.now)], at: scene.now)
            try await registry.catchUp(from: scene.log)
            #expect(registry.inactive.contains(Scene.id(1)))
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `A registration that has told of itself is not told of again`(kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, scene in
            // Of a token that nobody has registered, and of one that registers again after an event is applied.
            scene.log.note([Scene.deactivated(Scene.id(1), evidence: scene.now)], at: scene.now)
            scene.now += 10
            _ = try await registry.register([Scene.registration(1), Scene.registration(2)])
            scene.now += 10
            _ = try await registry.deactivate([Scene.id(2)], reason: "by hand")
            scene.now += 10
            _ = try await registry.register([Scene.registration(2)])
            let count = scene.log.events.count
            try await registry.catchUp(from: scene.log)
            await registry.publishOwed()
            #expect(scene.log.events.count == count && registry.inactive.isEmpty)
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `A removal that a registration overtakes is followed by an event`(kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, scene in
            _ = try await registry.register([Scene.registration(1)])
            scene.now += 10
            let removal = EventDraft.deactivated(
                Deactivation(
                    of: Scene.id(1), app: Scene.shop, reason: Deactivation.removed, evidence: scene.now, erases: true))
            scene.now += 10
            _ = try await registry.register([Scene.registration(1)])
            scene.log.note([removal], at: scene.now)
            try await registry.catchUp(from: scene.log)
            await registry.publishOwed()
            #expect(scene.log.events.map(\.kind) == [.deviceRegistered, .deviceDeactivated, .deviceReactivated])
            #expect(try await registry.device(Scene.id(1))?.isActive == true)
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `A removed device is erased, and stays erased when its event is read again`(kind: RegistryKind) async throws {
        try await Scene.run(on: kind) { scene in
            let registry = try await scene.open()
            _ = try await registry.register([Scene.registration(1), Scene.registration(2)])
            scene.now += 10
            #expect(try await registry.remove([Scene.id(1), Scene.id(9)]) == [Scene.id(1)])
            #expect(try await registry.device(Scene.id(1)) == nil)
            #expect(try await registry.device(Scene.id(2)) != nil)
            #expect(registry.status.registered == 1 && registry.status.inactive == 0)
            #expect(!registry.inactive.contains(Scene.id(1)))
            #expect(try await registry.remove([Scene.id(1)]).isEmpty)
            try await registry.catchUp(from: scene.log)
            #expect(try await registry.device(Scene.id(1)) == nil && registry.status.unregistered == 0)
            // An inactive device can be removed, too.
            _ = try await registry.deactivate([Scene.id(2)], reason: "by hand")
            scene.now += 10
            #expect(try await registry.remove([Scene.id(2)]) == [Scene.id(2)])
            #expect(registry.status.registered == 0 && registry.status.inactive == 0)
            // The device can register again.
            scene.now += 10
            let again = try await registry.register([Scene.registration(1)])
            #expect(again.map(\.change) == [.registered])
            try await registry.catchUp(from: scene.log)
            #expect(try await registry.device(Scene.id(1))?.isActive == true)
            await registry.close()
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `Devices of an erased user are known as such after a start, too`(kind: RegistryKind) async throws {
        try await Scene.run(on: kind) { scene in
            var registry = try await scene.open()
            _ = try await registry.register(
                [1, 2, 3].map { Scene.registration($0, user: $0 == 2 ? "other" : "zacharias") })
            scene.now += 10
            let erasure = UserErasure(of: "zacharias", in: nil, at: scene.now)
            #expect(try await registry.erase([Scene.id(1), Scene.id(3)], as: erasure.pseudonym).count == 2)
            _ = try await registry.deactivate([Scene.id(2)], reason: "by hand")
            for isAgain in [false, true] {
                if isAgain {
                    await registry.close()
                    registry = try await scene.open()
                    try await registry.catchUp(from: scene.log)
                }
                #expect([1, 2, 3].map { registry.erased.contains(Scene.id($0)) } == [true, false, true])
                #expect([1, 2, 3].allSatisfy { registry.inactive.contains(Scene.id($0)) })
                // What is left of a message to them counts the devices.
                let page = try await registry.page(
                    of: .users([erasure.pseudonym, "other"]), app: Scene.shop, kind: .alert, wording: nil, after: nil,
                    limit: 10)
                #expect(page.devices.isEmpty && Set(page.inactive) == [Scene.id(1), Scene.id(3)])
            }
            scene.now += 10
            _ = try await registry.register([Scene.registration(1, user: "new")])
            await registry.close()
            registry = try await scene.open()
            #expect([1, 3].map { registry.erased.contains(Scene.id($0)) } == [false, true])
            await registry.close()
        }
    }

    /// The first of two removals deletes the row of the device; the second one has held the device by then.
    @Test(arguments: RegistryKind.allCases)
    func `A device that is removed twice at once is not held forever`(kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, scene in
            _ = try await registry.register([Scene.registration(1)])
            scene.now += 10
            _ = try await registry.remove([Scene.id(1)])
            #expect(registry.hold([Scene.id(1)]) == [Scene.id(1)])
            let event = EventDraft.deactivated(
                Deactivation(
                    of: Scene.id(1), app: Scene.shop, reason: Deactivation.removed, evidence: scene.now, erases: true))
            scene.log.note([event], at: scene.now)
            try await registry.apply(scene.log.segments)
            #expect(!registry.inactive.contains(Scene.id(1)))
            #expect(registry.status.registered == 0 && registry.status.unregistered == 0)
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `Only held devices are released, even if the file cannot be read`(kind: RegistryKind) async throws {
        try await Scene.run(on: kind) { scene in
            let registry = try await scene.open()
            _ = try await registry.register([Scene.registration(1), Scene.registration(2)])
            scene.now += 10
            _ = try await registry.deactivate([Scene.id(2)], reason: "by hand")
            let held = registry.hold([Scene.id(1), Scene.id(2)])
            #expect(held == [Scene.id(1)])
            #expect(registry.inactive.contains(Scene.id(1)))
            await registry.close()
            await registry.release(held)
            #expect(!registry.inactive.contains(Scene.id(1)))
            #expect(registry.inactive.contains(Scene.id(2)))
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `A removal of which only the event was written is completed at the next start`(kind: RegistryKind) async throws
    {
        try await Scene.run(on: kind) { scene in
            let registry = try await scene.open()
            _ = try await registry.register([Scene.registration(1)])
            try await registry.catchUp(from: scene.log)
            await registry.close()
            scene.now += 10
            let event = EventDraft.deactivated(
                Deactivation(
                    of: Scene.id(1), app: Scene.shop, reason: Deactivation.removed, evidence: scene.now, erases: true))
            scene.log.note([event], at: scene.now)
            let again = try await scene.open()
            try await again.catchUp(from: scene.log)
            #expect(try await again.device(Scene.id(1)) == nil)
            #expect(again.status.registered == 0 && again.status.inactive == 0)
            await again.close()
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `A device that registers in the millisecond of its deactivation stays active on replay`(kind: RegistryKind)
        async throws
    {
        try await Scene.run(on: kind) { scene in
            var registry = try await scene.open()
            _ = try await registry.register([Scene.registration(1)])
            _ = try await registry.deactivate([Scene.id(1)], reason: "by hand")
            _ = try await registry.register([Scene.registration(1)])
            await registry.close()
            registry = try await scene.open()
            try await registry.catchUp(from: scene.log)
            #expect(registry.inactive.isEmpty && registry.status.applied == 3)
            await registry.close()
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `A manual deactivation that was interrupted is applied at the next start`(kind: RegistryKind) async throws {
        try await Scene.run(on: kind) { scene in
            let registry = try await scene.open()
            _ = try await registry.register([Scene.registration(1)])
            await registry.close()
            scene.now += 1
            // This is the event that `deactivate` writes before it changes anything.
            scene.log.note([Scene.deactivated(Scene.id(1), reason: "by hand", evidence: scene.now)], at: scene.now)
            let again = try await scene.open()
            try await again.catchUp(from: scene.log)
            let reason = try await again.device(Scene.id(1))?.reason
            #expect(reason == "by hand")
            await again.close()
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `Events that are applied twice or in parts have the same effect`(kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, scene in
            _ = try await registry.register((0..<20).map { Scene.registration($0) })
            scene.now += 10
            for number in 0..<10 {
                scene.log.note([Scene.deactivated(Scene.id(number), evidence: scene.now)], at: scene.now)
            }
            try await registry.apply(Array(scene.log.segments.prefix(4)))
            try await registry.apply(scene.log.segments)
            scene.now += 10
            _ = try await registry.register([Scene.registration(3)])
            try await registry.apply(scene.log.segments)
            try await registry.catchUp(from: scene.log)
            #expect(registry.status.inactive == 9 && !registry.inactive.contains(Scene.id(3)))
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `An unregistered invalid token is remembered over restarts until it is registered`(kind: RegistryKind)
        async throws
    {
        try await Scene.run(on: kind) { scene in
            var registry = try await scene.open()
            let before = try await registry.sightings(of: [Scene.id(1)]).map { $0?.seen }
            #expect(before == [nil])
            scene.log.note([Scene.deactivated(Scene.id(1), evidence: 5)], at: scene.now)
            try await registry.apply(scene.log.segments)
            #expect(registry.inactive.contains(Scene.id(1)))
            #expect(registry.status.unregistered == 1 && registry.status.registered == 0)
            await registry.close()
            registry = try await scene.open()
            #expect(registry.inactive.contains(Scene.id(1)))
            #expect(registry.status.unregistered == 1 && registry.status.registered == 0)
            let record = try await registry.device(Scene.id(1))
            #expect(record?.token == nil && record?.registeredAt == nil && record?.reason == "Unregistered")
            let outcome = try await registry.register([Scene.registration(1)])
            #expect(outcome.map(\.change) == [.reactivated])
            #expect(registry.inactive.isEmpty)
            #expect(registry.status.unregistered == 0 && registry.status.registered == 1)
            _ = try await registry.register((1...3).map { Scene.registration($0) })
            #expect(registry.status.registered == 3)
            _ = try await registry.deactivate([Scene.id(2), Scene.id(3)], reason: "test")
            #expect(registry.status.registered == 3 && registry.status.inactive == 2)
            await registry.close()
            registry = try await scene.open()
            #expect(registry.status.registered == 3 && registry.status.inactive == 2)
            let everyone = try await registry.all(.everyone)
            #expect(everyone == [Scene.id(1)])
            await registry.close()
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `Only the oldest devices that were never registered are forgotten`(kind: RegistryKind) async throws {
        var options = RegistryOptions()
        options.unregisteredLimit = 100
        try await Scene.open(on: kind, options) { registry, scene in
            _ = try await registry.register([Scene.registration(5000)])
            scene.now += 1
            _ = try await registry.deactivate([Scene.id(5000)], reason: "test")
            for start in stride(from: 0, to: 500, by: 50) {
                scene.now += 1
                scene.log.note(
                    (start..<start + 50).map { Scene.deactivated(Scene.id($0), evidence: 5) }, at: scene.now)
                try await registry.catchUp(from: scene.log)
                #expect(registry.status.unregistered <= 100)
                #expect(registry.status.inactive == registry.status.unregistered + 1)
            }
            #expect(registry.inactive.contains(Scene.id(499)) && !registry.inactive.contains(Scene.id(0)))
            #expect(registry.inactive.contains(Scene.id(5000)))
        }
    }

    @Test func `The position in the log is stored even if no event concerns the registry`() async throws {
        var options = RegistryOptions()
        options.markEvery = 10
        try await Scene.run { scene in
            let registry = try await scene.open(options)
            for number in 0..<25 {
                var event = EventDraft(.deviceRegistered, app: Scene.shop)
                event.device = Scene.id(number)
                scene.log.note([event], at: scene.now)
                try await registry.apply([scene.log.segments.last!])
            }
            #expect(registry.status.applied == 25)
            #expect((registry as? SQLiteRegistry)?.state.withLock { $0.marked } ?? 0 >= 20)
            await registry.close()
            let again = try await scene.open(options)
            #expect(again.status.applied == 25)
            await again.close()
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `Another log is read from its beginning`(kind: RegistryKind) async throws {
        try await Scene.run(on: kind) { scene in
            var registry = try await scene.open()
            _ = try await registry.register((0..<30).map { Scene.registration($0) })
            try await registry.catchUp(from: scene.log)
            #expect(registry.status.applied == 30)
            await registry.close()
            scene.now += 1
            let other = MemoryLog()
            other.note([Scene.deactivated(Scene.id(1), evidence: scene.now)], at: scene.now)
            registry = try await scene.open()
            let isWhole = try await registry.catchUp(from: other)
            #expect(!isWhole && registry.status.applied == 1 && registry.inactive.contains(Scene.id(1)))
            await registry.close()
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `A gap in the log is reported, and the rest is applied`(kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, scene in
            for number in 0..<10 { scene.log.note([Scene.deactivated(Scene.id(number), evidence: 5)], at: 10) }
            scene.log.state.withLock { $0.segments.removeFirst(5) }
            let isWhole = try await registry.catchUp(from: scene.log)
            #expect(!isWhole && registry.status.inactive == 5)
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `A damaged segment of the log is skipped and counted`(kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, scene in
            for number in 0..<3 { scene.log.note([Scene.deactivated(Scene.id(number), evidence: 5)], at: 10) }
            var segments = scene.log.segments
            segments[1] = LogSegment(
                first: segments[1].first, count: 1, time: 10, bytes: Array(segments[1].bytes.prefix(5)))
            try await registry.apply(segments)
            #expect(registry.status.damaged == 1 && registry.status.inactive == 2 && registry.status.applied == 3)
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `The follower passes committed events to the registry in order`(kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, scene in
            let follower = RegistryFollower(registry, log: scene.log) { Issue.record("\($0)") }
            for number in 0..<200 {
                scene.log.note(
                    (0..<20).map { Scene.deactivated(Scene.id(number * 20 + $0), evidence: 5) }, at: 10)
                follower.committed([scene.log.segments[number]])
            }
            await wait(while: registry.status.applied < 4000)
            #expect(registry.status.inactive == 4000)
            await follower.stop()
            scene.log.note([Scene.deactivated(Scene.id(9999), evidence: 5)], at: 10)
            follower.committed([scene.log.segments[200]])
            #expect(!registry.inactive.contains(Scene.id(9999)))
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `Events before the first segment of a follower are not skipped`(kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, scene in
            for number in 0..<5 { scene.log.note([Scene.deactivated(Scene.id(number), evidence: 5)], at: 10) }
            let follower = RegistryFollower(registry, log: scene.log) { Issue.record("\($0)") }
            follower.committed([scene.log.segments[4]])
            await wait(while: registry.status.applied < 5)
            #expect(registry.status.inactive == 5)
            await follower.stop()
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `A follower retries when the log cannot be read, and loses nothing`(kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, scene in
            let failures = EventRecorder<String>()
            scene.log.state.withLock { $0.failures = 3 }
            let follower = RegistryFollower(registry, log: scene.log, retryAfter: .milliseconds(1)) {
                failures.record("\($0)")
            }
            scene.log.note([Scene.deactivated(Scene.id(1), evidence: 5)], at: 10)
            follower.committed([scene.log.segments[0]])
            await wait(while: registry.status.applied < 1)
            #expect(failures.events.count == 3 && registry.inactive.contains(Scene.id(1)))
            await follower.stop()
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `A follower that receives more than it can hold reads the log instead`(kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, scene in
            let follower = RegistryFollower(registry, log: scene.log) { Issue.record("\($0)") }
            scene.log.note([Scene.deactivated(Scene.id(1), evidence: 5)], at: 10)
            follower.committed([scene.log.segments[0]])
            await wait(while: registry.status.applied < 1)
            let reads = scene.log.state.withLock { $0.reads }
            scene.log.note([Scene.deactivated(Scene.id(2), evidence: 5)], at: 10)
            // The segment claims more events than the follower keeps. Its bytes are never read.
            follower.committed([LogSegment(first: 2, count: 1_000_000, time: 10, bytes: [])])
            await wait(while: registry.status.applied < 2)
            #expect(registry.inactive.contains(Scene.id(2)) && registry.status.applied == 2)
            #expect(scene.log.state.withLock { $0.reads } > reads)
            await follower.stop()
        }
    }
}
