import PushLoop
import PushModel
import Testing

@testable import PushStore

/// The addresses of Live Activities, over both engines.
@Suite struct ActivityAudienceTests {
    private typealias Scene = RegistryScene

    private static func address(
        _ number: Int, _ kind: AddressKind, activity: String? = nil, type: String = "Delivery", app: AppID = Scene.shop,
        user: String = "ada"
    ) -> DeviceRegistration {
        var registration = Scene.registration(number, app, user: user, tags: [])
        registration.place = AddressPlace(kind: kind)
        registration.place.activity = activity
        registration.place.activityType = type
        return registration
    }

    private static func page(
        _ audience: Audience, _ kind: AddressKind, type: String? = nil, after: AudienceCursor? = nil, limit: Int = 1000,
        in registry: any RegistryEngine
    ) async throws -> AudiencePage {
        try await registry.page(
            of: audience, app: Scene.shop, kind: kind, activityType: type, after: after, limit: limit)
    }

    @Test(arguments: RegistryKind.allCases)
    func `An activity has the addresses of all phones that show it, page by page`(_ kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, _ in
            _ = try await registry.register(
                (0..<25).map { Self.address($0, .activity, activity: "match-1", user: "user-\($0)") }
                    + [
                        Self.address(30, .activity, activity: "match-2"), Self.address(31, .alert, type: ""),
                        Self.address(32, .activity, activity: "match-1", app: Scene.news),
                    ])
            var found: Set<DeviceID> = []
            var cursor: AudienceCursor?
            repeat {
                let page = try await Self.page(
                    .activities(["match-1"]), .activity, after: cursor, limit: 10, in: registry)
                for device in page.devices { #expect(found.insert(device.id).inserted) }
                cursor = page.next
            } while cursor != nil
            #expect(found == Set((0..<25).map { Scene.id($0, Scene.shop) }))
            let unknown = try await Self.page(.activities(["match-3"]), .activity, in: registry)
            #expect(unknown.devices.isEmpty && unknown.inactive.isEmpty)
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `An activity whose addresses have ended is told from an unknown one`(_ kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, _ in
            _ = try await registry.register([Self.address(1, .activity, activity: "match-1")])
            _ = try await registry.deactivate([Scene.id(1, Scene.shop)], reason: "activity_ended")
            let page = try await Self.page(.activities(["match-1"]), .activity, in: registry)
            #expect(page.devices.isEmpty && page.inactive == [Scene.id(1, Scene.shop)])
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `A start goes to addresses of its type`(_ kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, _ in
            _ = try await registry.register([
                Self.address(1, .pushToStart, type: "Delivery"), Self.address(2, .pushToStart, type: "Match"),
                Self.address(3, .alert, type: ""),
            ])
            for audience in [Audience.users(["ada"]), .everyone] {
                let page = try await Self.page(audience, .pushToStart, type: "Delivery", in: registry)
                #expect(page.devices.map(\.id) == [Scene.id(1, Scene.shop)])
                #expect(page.ofOtherKinds.isEmpty)
            }
            let named = Audience.devices([1, 2, 3].map { Scene.id($0, Scene.shop) })
            let page = try await Self.page(named, .pushToStart, type: "Delivery", in: registry)
            #expect(page.devices.map(\.id) == [Scene.id(1, Scene.shop)])
            #expect(Set(page.ofOtherKinds.map(\.id)) == [Scene.id(2, Scene.shop), Scene.id(3, Scene.shop)])
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `The router is told of new addresses`(_ kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, _ in
            let told = Locked<[String]>([])
            registry.observeActivities {
                if case .of(let app, let name) = $0 { told.withLock { $0.append("\(app)/\(name)") } }
            }
            _ = try await registry.register([
                Self.address(1, .activity, activity: "match-1"), Self.address(2, .alert, type: ""),
            ])
            #expect(told.withLock { $0 } == ["shop/match-1"])
        }
    }
}
