import PushModel
import PushTime
import TestSupport
import Testing

@testable import PushStore

@Suite struct RegisterTests {
    private typealias Scene = RegistryScene

    @Test(arguments: RegistryKind.allCases)
    func `New and reactivated devices are published, known ones are not`(kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, scene in
            let first = try await registry.register([Scene.registration(1)])
            #expect(first == [RegisteredDevice(id: Scene.id(1), change: .registered)])
            scene.now += 10
            let again = try await registry.register([Scene.registration(1)])
            #expect(again.map(\.change) == [.known])
            let seen = try await registry.device(Scene.id(1))
            #expect(seen?.registeredAt == 1_000_000 && seen?.seenAt == 1_000_010)
            let gone = try await registry.deactivate([Scene.id(1), Scene.id(1), Scene.id(2)], reason: "asked to")
            #expect(gone == [Scene.id(1)] && registry.inactive.contains(Scene.id(1)))
            let record = try await registry.device(Scene.id(1))
            #expect(record?.reason == "asked to" && record?.deactivatedAt == 1_000_011)
            // The clock shows the same millisecond, but the write has a later time.
            let back = try await registry.register([Scene.registration(1)])
            #expect(back.map(\.change) == [.reactivated] && !registry.inactive.contains(Scene.id(1)))
            let alive = try await registry.device(Scene.id(1))
            #expect(alive?.isActive == true && alive?.reason == nil && alive?.registeredAt == 1_000_000)
            #expect(
                scene.log.events.map(\.kind) == [.deviceRegistered, .deviceDeactivated, .deviceReactivated])
            #expect(scene.log.events.allSatisfy { $0.device == Scene.id(1) && $0.app == Scene.shop })
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `Omitted values stay unchanged, and tags are replaced as a whole`(kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, _ in
            var registration = Scene.registration(1, user: "ann", tags: ["b", "a", "b"])
            registration.locale = "de"
            registration.platform = "ios"
            registration.appVersion = "1.0"
            _ = try await registry.register([registration])
            var update = Scene.registration(1)
            update.appVersion = "1.1"
            _ = try await registry.register([update])
            let kept = try await registry.device(Scene.id(1))
            #expect(kept?.user == "ann" && kept?.locale == "de" && kept?.platform == "ios")
            #expect(kept?.appVersion == "1.1" && kept?.tags == ["a", "b"] && kept?.token == Scene.token(1))
            _ = try await registry.register([Scene.registration(1, tags: ["c", "b"])])
            let tags = try await registry.device(Scene.id(1))?.tags
            #expect(tags == ["b", "c"])
            _ = try await registry.register([Scene.registration(1, tags: [])])
            let none = try await registry.device(Scene.id(1))?.tags
            #expect(none == [])
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `A device with another address of the same identity keeps its properties and gets the address`(
        kind: RegistryKind
    ) async throws {
        try await Scene.open(on: kind) { registry, scene in
            let identity = Array("cHk3b2Pq-1x_ZZaabbccdd".utf8)
            let token = try #require(Address(bytes: identity + Array(":APA91b".utf8), identifiedByFirst: 22))
            let bare = try #require(Address(bytes: identity))
            var registration = DeviceRegistration(app: Scene.shop, token: token)
            registration.user = "ann"
            registration.tags = ["beta"]
            let first = try await registry.register([registration])
            let stored = try await registry.device(first[0].id)
            #expect(stored?.token == token)
            scene.now += 10
            // An app that says what the id replaces changes nothing either.
            var next = DeviceRegistration(app: Scene.shop, token: bare)
            next.replaces = token
            #expect(try await registry.register([next]) == [RegisteredDevice(id: first[0].id, change: .known)])
            let device = try await registry.device(first[0].id)
            #expect(device?.token == bare && device?.user == "ann" && device?.tags == ["beta"])
            #expect(device?.isActive == true)
            #expect(scene.log.events.map(\.kind) == [.deviceRegistered])
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `A device that is named twice in a batch is one device, and the later values count`(kind: RegistryKind)
        async throws
    {
        try await Scene.open(on: kind) { registry, scene in
            let outcomes = try await registry.register([
                Scene.registration(1, user: "ann", tags: ["a"]), Scene.registration(2),
                Scene.registration(1, user: "bob"),
            ])
            #expect(outcomes.map(\.change) == [.registered, .registered, .known])
            let record = try await registry.device(Scene.id(1))
            #expect(record?.user == "bob" && record?.tags == ["a"])
            #expect(scene.log.events.count == 2)
        }
    }

    @Test(arguments: [false, true], RegistryKind.allCases)
    func `User, tags and locale move to the replacing token`(newIsKnown: Bool, kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, scene in
            var old = Scene.registration(1, user: "ann", tags: ["vip"])
            old.locale = "de"
            _ = try await registry.register([old])
            if newIsKnown { _ = try await registry.register([Scene.registration(2, user: "nobody", tags: ["own"])]) }
            scene.now += 5
            var new = Scene.registration(2)
            new.replaces = Scene.token(1)
            let outcome = try await registry.register([new])
            #expect(outcome.map(\.change) == [newIsKnown ? .known : .registered])
            let device = try await registry.device(Scene.id(2))
            #expect(device?.user == "ann" && device?.locale == "de" && device?.isActive == true)
            #expect(device?.tags == (newIsKnown ? ["own", "vip"] : ["vip"]))
            let before = try await registry.device(Scene.id(1))
            #expect(before?.reason == "replaced" && before?.user == nil && before?.tags == [])
            #expect(registry.inactive.contains(Scene.id(1)) && !registry.inactive.contains(Scene.id(2)))
            let event = scene.log.events.first { $0.kind == .deviceDeactivated }
            #expect(event?.device == Scene.id(1) && event?.reason == "replaced")
            let users = try await registry.all(.users(["ann"]))
            #expect(users == [Scene.id(2)])
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `A token that replaces itself or an unknown token is registered normally`(kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, scene in
            var own = Scene.registration(1, user: "ann")
            own.replaces = Scene.token(1)
            var other = Scene.registration(2)
            other.replaces = Scene.token(99)
            let outcomes = try await registry.register([own, other])
            #expect(outcomes.map(\.change) == [.registered, .registered])
            #expect(registry.inactive.isEmpty && scene.log.events.count == 2)
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `A chain of replacements in one batch ends with the last token`(kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, _ in
            var second = Scene.registration(2)
            second.replaces = Scene.token(1)
            var third = Scene.registration(3)
            third.replaces = Scene.token(2)
            _ = try await registry.register([Scene.registration(1, user: "ann", tags: ["a"]), second, third])
            let last = try await registry.device(Scene.id(3))
            #expect(last?.user == "ann" && last?.tags == ["a"])
            let active = try await registry.all(.everyone)
            #expect(active == [Scene.id(3)])
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `All devices are present after the file was closed and reopened`(kind: RegistryKind) async throws {
        try await Scene.run(on: kind) { scene in
            var registry = try await scene.open()
            _ = try await registry.register((0..<50).map { Scene.registration($0, user: "u\($0 % 7)", tags: ["t"]) })
            _ = try await registry.deactivate([Scene.id(3), Scene.id(4)], reason: "test")
            let before = try await registry.list(DeviceFilter(), after: nil, limit: 100).devices
            await registry.close()
            registry = try await scene.open()
            let after = try await registry.list(DeviceFilter(), after: nil, limit: 100).devices
            #expect(after == before && after.count == 50)
            #expect(registry.inactive.contains(Scene.id(3)) && !registry.inactive.contains(Scene.id(5)))
            #expect(registry.status.inactive == 2)
            await registry.close()
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `Waiting calls share a transaction, and each gets its own answer`(kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, scene in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<300 {
                    group.addTask {
                        let outcome = try await registry.register([
                            Scene.registration(number), Scene.registration(1000 + number % 10),
                        ])
                        #expect(outcome.map(\.id) == [Scene.id(number), Scene.id(1000 + number % 10)])
                        #expect(outcome[0].change == .registered)
                    }
                }
                try await group.waitForAll()
            }
            let devices = try await registry.list(DeviceFilter(), after: nil, limit: 1000).devices
            #expect(devices.count == 310 && scene.log.events.count == 310)
            // There are fewer transactions than calls. Each transaction has its own time.
            #expect(Set(devices.compactMap(\.registeredAt)).count < 300)
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `A canceled call does not cancel the registrations of others`(kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, _ in
            let tasks = (0..<50).map { number in
                Task { try await registry.register([Scene.registration(number)]) }
            }
            for task in tasks where Bool.random() { task.cancel() }
            for task in tasks { _ = try await task.value }
            let devices = try await registry.list(DeviceFilter(), after: nil, limit: 100).devices
            #expect(devices.count == 50)
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `A registration stays when the ledger does not accept its event`(kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, scene in
            scene.log.state.withLock { $0.refuses = true }
            let outcome = try await registry.register([Scene.registration(1)])
            #expect(outcome.map(\.change) == [.registered] && registry.status.unpublished == 1)
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `No device is deactivated manually when the ledger does not accept the event`(kind: RegistryKind) async throws
    {
        try await Scene.open(on: kind) { registry, scene in
            _ = try await registry.register([Scene.registration(1)])
            scene.log.state.withLock { $0.refuses = true }
            await #expect(throws: RegistryError.self) {
                _ = try await registry.deactivate([Scene.id(1)], reason: "test")
            }
            #expect(registry.inactive.isEmpty)
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `Each page of a list matches the filter`(kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, _ in
            _ = try await registry.register(
                (0..<100).map {
                    Scene.registration(
                        $0, $0 % 2 == 0 ? Scene.shop : Scene.news, user: "u\($0 % 10)",
                        tags: $0 % 25 == 0 ? ["rare"] : [])
                })
            _ = try await registry.deactivate([Scene.id(0), Scene.id(10)], reason: "test")
            func count(_ change: (inout DeviceFilter) -> Void) async throws -> Int {
                var filter = DeviceFilter()
                change(&filter)
                var devices: [DeviceRecord] = []
                var cursor: AudienceCursor?
                repeat {
                    let page = try await registry.list(filter, after: cursor, limit: 7)
                    #expect(page.devices.count <= 7)
                    devices += page.devices
                    cursor = page.next
                } while cursor != nil
                #expect(Set(devices.map(\.id)).count == devices.count)
                return devices.count
            }
            #expect(try await count { _ in } == 100)
            #expect(try await count { $0.app = Scene.shop } == 50)
            #expect(try await count { $0.user = "u0" } == 10)
            #expect(try await count { $0.isActive = false } == 2)
            #expect(try await count { $0.isActive = true } == 98)
            #expect(try await count { $0.tag = "rare" } == 4)
            #expect(try await count { filter in (filter.tag, filter.isActive) = ("rare", false) } == 1)
            #expect(try await count { filter in (filter.app, filter.user) = (Scene.news, "u0") } == 0)
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `The last-seen time is returned, and unknown devices are looked up once`(kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, scene in
            _ = try await registry.register([Scene.registration(1)])
            let ids = [Scene.id(1), Scene.id(2), Scene.id(1)]
            let first = try await registry.sightings(of: ids).map { $0?.seen }
            #expect(first == [1_000_000, nil, 1_000_000])
            if let unknown = (registry as? SQLiteRegistry)?.unknown {
                #expect(unknown.contains(Scene.id(2)) && !unknown.contains(Scene.id(1)))
            }
            scene.now += 3
            _ = try await registry.register([Scene.registration(2)])
            let second = try await registry.sightings(of: ids).map { $0?.seen }
            #expect(second == [1_000_000, 1_000_003, 1_000_000])
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `The time zone of a device is returned with its last-seen time`(kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, _ in
            var device = Scene.registration(1)
            device.timeZone = "Europe/Berlin"
            _ = try await registry.register([device, Scene.registration(2)])
            let zones = try await registry.sightings(of: (1...3).map { Scene.id($0) }).map { $0?.timeZone }
            #expect(zones == ["Europe/Berlin", nil, nil])
        }
    }

    /// The clocks of two nodes differ a little. A clock that is far ahead is a mistake.
    @Test(arguments: RegistryKind.allCases)
    func `A registration follows a deactivation that another clock has dated, if that is not far ahead`(
        kind: RegistryKind
    ) async throws {
        try await Scene.open(on: kind) { registry, scene in
            _ = try await registry.register([Scene.registration(1), Scene.registration(2)])
            let (near, far) = (scene.now + 1500, scene.now + 3_600_000)
            scene.log.note([Scene.deactivated(Scene.id(1), evidence: near)], at: near)
            scene.log.note([Scene.deactivated(Scene.id(2), evidence: far)], at: far)
            try await registry.apply(scene.log.segments)
            #expect(registry.status.inactive == 2)
            let back = try await registry.register([Scene.registration(1), Scene.registration(2)])
            #expect(back.map(\.change) == [.reactivated, .reactivated])
            let seen = try await registry.sightings(of: [Scene.id(1), Scene.id(2)]).map { $0?.seen }
            #expect(try #require(seen[0]) == near + 1)
            #expect(try #require(seen[1]) < near)
        }
    }

    @Test(arguments: [false, true], RegistryKind.allCases)
    func `A device that was stored while the clock was far ahead can be deactivated after it has registered again`(
        reopens: Bool, kind: RegistryKind
    ) async throws {
        try await Scene.run(on: kind) { scene in
            let right = scene.now
            var registry = try await scene.open()
            scene.now = right + .seconds(800 * 86_400)
            _ = try await registry.register([Scene.registration(1), Scene.registration(2)])
            _ = try await registry.deactivate([Scene.id(2)], reason: "by hand")
            _ = try await registry.reactivate([Scene.id(2)])
            try await registry.catchUp(from: scene.log)
            if reopens {
                await registry.close()
                registry = try await scene.open()
            }
            scene.now = right + 10
            let again = try await registry.register([Scene.registration(1), Scene.registration(2)])
            #expect(again.map(\.change) == [.known, .known])
            let seen = try await registry.sightings(of: [Scene.id(1), Scene.id(2)]).map { $0?.seen }
            #expect(seen == [right + 10, right + 10])
            scene.now += 10
            scene.log.note([1, 2].map { Scene.deactivated(Scene.id($0), evidence: right + 15) }, at: scene.now)
            try await registry.catchUp(from: scene.log)
            #expect([1, 2].allSatisfy { registry.inactive.contains(Scene.id($0)) })
            await registry.close()
        }
    }
}
