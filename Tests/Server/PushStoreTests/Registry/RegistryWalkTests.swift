import PushModel
import PushTime
import TestSupport
import Testing

@testable import PushStore

/// A random walk of a registry beside a simple model. After each step both must agree.
@Suite struct RegistryWalkTests {
    private typealias Scene = RegistryScene

    private struct Mirror {
        var user: String?
        var tags: Set<String> = []
        var seen: WallTime?
        var isActive: Bool
    }

    @Test(arguments: 0..<6, RegistryKind.allCases)
    func `The registry agrees with a model after any walk`(seed: UInt64, kind: RegistryKind) async throws {
        try await Scene.run(on: kind) { scene in
            var random = SeededRandom(seed: seed)
            var registry = try await scene.open()
            var mirror: [Int: Mirror] = [:]
            for _ in 0..<150 {
                scene.now += Int64.random(in: 1...4, using: &random)
                let number = Int.random(in: 0..<12, using: &random)
                switch Int.random(in: 0..<10, using: &random) {
                case 0..<5:
                    var registration = Scene.registration(number)
                    if Bool.random(using: &random) { registration.user = "u\(Int.random(in: 0..<3, using: &random))" }
                    if Bool.random(using: &random) {
                        registration.tags = ["a", "b", "c"].filter { _ in Bool.random(using: &random) }
                    }
                    var old: Mirror?
                    if Int.random(in: 0..<4, using: &random) == 0 {
                        let other = Int.random(in: 0..<12, using: &random)
                        registration.replaces = Scene.token(other)
                        if other != number, let before = mirror[other] {
                            old = before
                            mirror[other] = Mirror(seen: before.seen, isActive: false)
                        }
                    }
                    let change = try await registry.register([registration])[0].change
                    let expected: RegisteredDevice.Change =
                        mirror[number].map { $0.isActive ? .known : .reactivated } ?? .registered
                    #expect(change == expected)
                    var device = mirror[number] ?? Mirror(isActive: true)
                    device.user = registration.user ?? old?.user ?? device.user
                    device.tags = registration.tags.map { Set($0) } ?? device.tags.union(old?.tags ?? [])
                    device.seen = scene.now
                    device.isActive = true
                    mirror[number] = device
                case 5..<8:
                    let evidence = scene.now - Int64.random(in: -3...12, using: &random)
                    let event = Scene.deactivated(
                        Scene.id(number), evidence: evidence, isEarly: Bool.random(using: &random))
                    scene.log.note([event], at: scene.now)
                    try await registry.catchUp(from: scene.log)
                    if let device = mirror[number] {
                        if (device.seen ?? .distantPast) <= min(evidence, scene.now) {
                            mirror[number]?.isActive = false
                        }
                    } else {
                        mirror[number] = Mirror(isActive: false)
                    }
                case 8:
                    let was = mirror[number]?.isActive == true
                    let gone = try await registry.deactivate([Scene.id(number)], reason: "by hand")
                    #expect(gone == (was ? [Scene.id(number)] : []))
                    mirror[number]?.isActive = false
                default:
                    await registry.close()
                    registry = try await scene.open()
                    try await registry.catchUp(from: scene.log)
                }
                try await Self.compare(registry, mirror)
            }
            await registry.close()
        }
    }

    private static func compare(_ registry: any RegistryEngine, _ mirror: [Int: Mirror]) async throws {
        let records = try await registry.list(DeviceFilter(), after: nil, limit: 100).devices
        let known = Dictionary(uniqueKeysWithValues: records.map { ($0.id, $0) })
        #expect(known.count == mirror.count)
        let seen = try await registry.sightings(of: (0..<13).map { Scene.id($0) }).map { $0?.seen }
        for number in 0..<13 {
            let (record, expected) = (known[Scene.id(number)], mirror[number])
            #expect(record?.user == expected?.user && record?.isActive == expected?.isActive)
            #expect(Set(record?.tags ?? []) == expected?.tags ?? [])
            #expect(seen[number] == expected?.seen)
            #expect(registry.inactive.contains(Scene.id(number)) == (expected?.isActive == false))
        }
        let active = try await registry.all(.everyone, limit: 5)
        #expect(Set(active) == Set(mirror.filter(\.value.isActive).map { Scene.id($0.key) }))
        for tag in ["a", "b"] {
            let found = try await registry.all(.tags(.all([.tag(tag), .not(.tag("c"))])), limit: 2)
            let expected = mirror.filter {
                $0.value.isActive && $0.value.tags.contains(tag) && !$0.value.tags.contains("c")
            }
            #expect(Set(found) == Set(expected.map { Scene.id($0.key) }))
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `Concurrent registrations and deactivations leave memory and file consistent`(kind: RegistryKind) async throws
    {
        try await Scene.open(on: kind) { registry, scene in
            _ = try await registry.register((0..<40).map { Scene.registration($0) })
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<8 {
                    group.addTask {
                        var random = SeededRandom(seed: UInt64(task))
                        for _ in 0..<40 {
                            let number = Int.random(in: 0..<40, using: &random)
                            if Bool.random(using: &random) {
                                _ = try await registry.register([Scene.registration(number)])
                            } else {
                                _ = try await registry.deactivate([Scene.id(number)], reason: "test")
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            let records = try await registry.list(DeviceFilter(), after: nil, limit: 100).devices
            #expect(records.count == 40)
            for record in records { #expect(registry.inactive.contains(record.id) == !record.isActive) }
        }
    }
}
