import PushModel
import PushTime
import TestSupport
import Testing

@testable import ActiveObject
@testable import PushStore

/// Audiences find the addresses of the kind of the message, whichever engine stores them.
@Suite struct AddressKindTests {
    private typealias Scene = RegistryScene

    private static func registration(
        _ number: Int, _ kind: AddressKind?, user: String? = nil, tags: [String]? = nil
    ) -> DeviceRegistration {
        var registration = Scene.registration(number, user: user, tags: tags)
        registration.place.kind = kind
        return registration
    }

    /// One user has an address of each kind, and one whose kind nobody has stated.
    private static func register(in registry: any RegistryEngine) async throws {
        let kinds: [AddressKind?] = [nil] + AddressKind.allCases
        _ = try await registry.register(
            kinds.enumerated().map { registration($0.offset, $0.element, user: "ada", tags: ["beta"]) })
    }

    private static func number(of kind: AddressKind) throws -> Int {
        1 + (try #require(AddressKind.allCases.firstIndex(of: kind)))
    }

    @Test(arguments: RegistryKind.allCases)
    func `A dynamic audience has the addresses of one kind`(engine: RegistryKind) async throws {
        try await Scene.open(on: engine) { registry, _ in
            try await Self.register(in: registry)
            for kind in AddressKind.allCases {
                let own = Scene.id(try Self.number(of: kind))
                let expected = Set(kind == .alert ? [own, Scene.id(0)] : [own])
                let audiences: [Audience] = [
                    .everyone, .users(["ada"]), .tags(.tag("beta")), .tags(.not(.tag("other"))),
                ]
                for audience in audiences {
                    let page = try await registry.page(
                        of: audience, app: Scene.shop, kind: kind, after: nil, limit: 100)
                    #expect(Set(page.devices.map(\.id)) == expected, "\(kind) \(audience)")
                    #expect(page.ofOtherKinds.isEmpty && page.next == nil)
                }
            }
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `Named addresses that are stated to be of another kind are told apart`(engine: RegistryKind) async throws {
        try await Scene.open(on: engine) { registry, _ in
            try await Self.register(in: registry)
            let all = 0...AddressKind.allCases.count
            for kind in AddressKind.allCases {
                let own = try Self.number(of: kind)
                let wrong = Set(all.filter { $0 != own && $0 != 0 }.map { Scene.id($0) })
                let named: [Audience] = [
                    .devices(all.map { Scene.id($0) }), .tokens(all.map { Scene.token($0) } + [Scene.token(99)]),
                ]
                for audience in named {
                    let page = try await registry.page(
                        of: audience, app: Scene.shop, kind: kind, after: nil, limit: 100)
                    var right = [Scene.id(0), Scene.id(own)]
                    // A token that the registry does not know may be of any kind.
                    if case .tokens = audience { right.append(Scene.id(99)) }
                    // The registry holds in memory which addresses are not for alerts, not which are.
                    #expect(Set(page.devices.map(\.id)) == Set(right), "\(kind) \(audience)")
                    #expect(Set(page.ofOtherKinds.map(\.id)) == wrong, "\(kind) \(audience)")
                }
            }
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `A kind stays until another is stated, and moves to the next token`(engine: RegistryKind) async throws {
        try await Scene.open(on: engine) { registry, _ in
            var first = Self.registration(1, .activity)
            (first.place.activity, first.place.activityType) = ("order-4711", "Delivery")
            (first.place.installation, first.timeZone) = ("phone", "Europe/Berlin")
            _ = try await registry.register([first])
            _ = try await registry.register([Self.registration(1, nil)])
            var record = try #require(try await registry.device(Scene.id(1)))
            #expect(record.place == first.place && record.timeZone == "Europe/Berlin")
            #expect(registry.ofOtherKinds.contains(Scene.id(1)))

            var second = Self.registration(2, nil)
            second.replaces = Scene.token(1)
            _ = try await registry.register([second])
            record = try #require(try await registry.device(Scene.id(2)))
            #expect(record.place == first.place)

            _ = try await registry.register([Self.registration(2, .alert)])
            record = try #require(try await registry.device(Scene.id(2)))
            #expect(record.place.kind == .alert && !registry.ofOtherKinds.contains(Scene.id(2)))
            // Other kinds have no activity.
            #expect(record.place.activity == nil && record.place.activityType == nil)
            #expect(record.place.installation == "phone")
        }
    }

    /// SQLite, which has no statistics, would consider an index of app and kind more selective than a list of users.
    @Test(arguments: AddressKind.allCases) func `The addresses of users are found by the users`(kind: AddressKind)
        async throws
    {
        try await Scene.open { registry, _ in
            let database = try #require(registry as? SQLiteRegistry).database
            let plans = try await database.write { transaction in
                let table = try transaction.table(of: Device.self)
                return try [["ada"], ["ada", "bob"]].map { users in
                    let query = Device.active(in: Scene.shop, kind).where(.isIn(\.user, values: users)).order(
                        by: \.user)
                    let text = try query.select(table.columnList, in: table, ordered: true)
                    let arguments = SQLArguments.list(text.parameters.map(\.value))
                    let rows = try transaction.rows("EXPLAIN QUERY PLAN " + text.sql, arguments: arguments)
                    return try rows.map { try $0["detail", as: String.self] }.joined(separator: "; ")
                }
            }
            for plan in plans {
                #expect(plan.contains("(user=? AND app=?") && !plan.contains("TEMP B-TREE"), "\(plan)")
            }
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `The devices of a user in an app are listed whatever their kinds, page by page`(engine: RegistryKind)
        async throws
    {
        try await Scene.open(on: engine) { registry, _ in
            try await Self.register(in: registry)
            _ = try await registry.register([Self.registration(100, .voip, user: "bob")])
            var filter = DeviceFilter()
            (filter.app, filter.user) = (Scene.shop, "ada")
            var (found, after): ([DeviceID], AudienceCursor?) = ([], nil)
            repeat {
                let page = try await registry.list(filter, after: after, limit: 3)
                #expect(page.devices.count <= 3)
                found += page.devices.map(\.id)
                after = page.next
            } while after != nil
            let all = (0...AddressKind.allCases.count).map { Scene.id($0) }
            #expect(found.count == all.count && Set(found) == Set(all))
        }
    }

    @Test func `The devices of a user in an app are found by the user`() async throws {
        try await Scene.open { registry, _ in
            let database = try #require(registry as? SQLiteRegistry).database
            var filter = DeviceFilter()
            (filter.app, filter.user) = (Scene.shop, "ada")
            let plans = try await database.write { [filter] transaction in
                let table = try transaction.table(of: Device.self)
                return try filter.queries.map { query in
                    let text = try query.where(\.objectId > 5).limit(101)
                        .select(table.columnList, in: table, ordered: true)
                    let arguments = SQLArguments.list(text.parameters.map(\.value))
                    let rows = try transaction.rows("EXPLAIN QUERY PLAN " + text.sql, arguments: arguments)
                    return try rows.map { try $0["detail", as: String.self] }.joined(separator: "; ")
                }
            }
            #expect(plans.count == AddressKind.allCases.count)
            for plan in plans {
                #expect(plan.contains("(user=? AND app=? AND kind=? AND rowid>?)"), "\(plan)")
                #expect(!plan.contains("TEMP B-TREE"), "\(plan)")
            }
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `Kinds are known after a restart`(engine: RegistryKind) async throws {
        try await Scene.run(on: engine) { scene in
            let first = try await scene.open()
            try await Self.register(in: first)
            await first.close()
            let second = try await scene.open()
            for (offset, kind) in AddressKind.allCases.enumerated() {
                #expect(second.ofOtherKinds.contains(Scene.id(offset + 1)) == (kind != .alert), "\(kind)")
            }
            #expect(!second.ofOtherKinds.contains(Scene.id(0)) && second.inactive.isEmpty)
            await second.close()
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `What is erased has no kind any more`(engine: RegistryKind) async throws {
        try await Scene.open(on: engine) { registry, _ in
            _ = try await registry.register([Self.registration(1, .voip)])
            _ = try await registry.remove([Scene.id(1)])
            #expect(!registry.ofOtherKinds.contains(Scene.id(1)) && registry.ofOtherKinds.isEmpty)
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `A list shows the addresses of one kind`(engine: RegistryKind) async throws {
        try await Scene.open(on: engine) { registry, _ in
            try await Self.register(in: registry)
            for kind in AddressKind.allCases {
                var filter = DeviceFilter()
                (filter.app, filter.kind) = (Scene.shop, kind)
                let list = try await registry.list(filter, after: nil, limit: 100).devices
                #expect(list.count == (kind == .alert ? 2 : 1))
                #expect(list.allSatisfy { $0.place.kind ?? .alert == kind })
            }
        }
    }
}
