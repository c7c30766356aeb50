import PushModel
import PushTime
import TestSupport
import Testing

@testable import PushStore

/// The addresses of Live Activities end, whichever engine stores them.
@Suite struct ActivityEndTests {
    private typealias Scene = RegistryScene

    private static func activity(_ number: Int, _ name: String = "order-1", app: AppID = Scene.shop)
        -> DeviceRegistration
    {
        var registration = Scene.registration(number, app)
        registration.place.kind = .activity
        (registration.place.activity, registration.place.activityType) = (name, "Delivery")
        return registration
    }

    private static func tidy(_ registry: any RegistryEngine, at age: WallTime) async throws {
        while try await registry.tidyActivities(at: age) {}
    }

    @Test(arguments: RegistryKind.allCases)
    func `An address ends twelve hours after its last update, and is removed a day later`(
        engine: RegistryKind
    ) async throws {
        try await Scene.open(on: engine) { registry, scene in
            let hour: Int64 = 3_600_000
            let start = scene.now
            _ = try await registry.register([Self.activity(1), Self.activity(2), Scene.registration(3)])
            scene.now = start.adding(milliseconds: 11 * hour)
            registry.updated([Scene.id(2), Scene.id(3), Scene.id(77)])
            try await Self.tidy(registry, at: scene.now)
            #expect(registry.inactive.isEmpty)

            scene.now = start.adding(milliseconds: 12 * hour + 1000)
            try await Self.tidy(registry, at: scene.now)
            let first = try #require(try await registry.device(Scene.id(1)))
            #expect(first.reason == "activity_ended" && registry.inactive.contains(Scene.id(1)))
            #expect(try await registry.device(Scene.id(2))?.isActive == true)
            try await Self.tidy(registry, at: scene.now)
            let ends = scene.log.events.filter { $0.kind == .deviceDeactivated }
            #expect(ends.map(\.device) == [Scene.id(1)] && ends[0].reason == "activity_ended")

            scene.now = start.adding(milliseconds: 23 * hour + 1000)
            try await Self.tidy(registry, at: scene.now)
            #expect(try await registry.device(Scene.id(2))?.isActive == false)
            #expect(try await registry.device(Scene.id(1)) != nil)

            let count = scene.log.events.count
            scene.now = start.adding(milliseconds: 36 * hour + 2000)
            try await Self.tidy(registry, at: scene.now)
            #expect(try await registry.device(Scene.id(1)) == nil)
            #expect(try await registry.device(Scene.id(2)) != nil)
            #expect(!registry.inactive.contains(Scene.id(1)) && !registry.ofOtherKinds.contains(Scene.id(1)))
            #expect(scene.log.events.count == count && registry.status.registered == 2)
            // The other address is that of an alert, which no age ends.
            #expect(try await registry.device(Scene.id(3))?.isActive == true)

            // The log is read again: what was removed stays removed.
            try await registry.apply(scene.log.segments)
            #expect(try await registry.device(Scene.id(1)) == nil)
            // It may come again.
            #expect(try await registry.register([Self.activity(1)]).map(\.change) == [.registered])
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `Thousands of addresses end, page by page`(engine: RegistryKind) async throws {
        try await Scene.open(on: engine) { registry, scene in
            _ = try await registry.register((0..<2500).map { Self.activity($0, "match") })
            scene.now += 13 * 3_600_000
            #expect(try await registry.tidyActivities(at: scene.now))
            try await Self.tidy(registry, at: scene.now)
            #expect(registry.status.inactive == 2500)
            scene.now += 24 * 3_600_000 + 1000
            try await Self.tidy(registry, at: scene.now)
            #expect(registry.status.registered == 0 && registry.inactive.isEmpty && registry.ofOtherKinds.isEmpty)
            #expect(scene.log.events.count == 5000)
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `An address that was stored while the clock was far ahead ends twelve hours after its last update`(
        engine: RegistryKind
    ) async throws {
        try await Scene.open(on: engine) { registry, scene in
            let right = scene.now
            scene.now = right + .seconds(800 * 86_400)
            _ = try await registry.register([Self.activity(1)])
            scene.now = right
            registry.updated([Scene.id(1)])
            try await Self.tidy(registry, at: right)
            scene.now += 12 * 3_600_000 + 1000
            try await Self.tidy(registry, at: scene.now)
            #expect(try await registry.device(Scene.id(1))?.reason == "activity_ended")
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `An address ends and goes by the age of data, not by a clock that is ahead`(
        engine: RegistryKind
    ) async throws {
        try await Scene.open(on: engine) { registry, scene in
            let start = scene.now
            _ = try await registry.register([Self.activity(1)])
            scene.now = start + .seconds(13 * 3600)
            try await Self.tidy(registry, at: start + 1)
            #expect(try await registry.device(Scene.id(1))?.isActive == true && registry.inactive.isEmpty)
            try await Self.tidy(registry, at: scene.now)
            #expect(try await registry.device(Scene.id(1))?.isActive == false)
            let end = scene.now
            scene.now = end + .seconds(25 * 3600)
            try await Self.tidy(registry, at: end + 1)
            #expect(try await registry.device(Scene.id(1)) != nil)
            try await Self.tidy(registry, at: scene.now)
            #expect(try await registry.device(Scene.id(1)) == nil)
        }
    }
}
