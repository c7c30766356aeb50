import PushModel
import PushTime
import TestSupport
import Testing

@testable import ActiveObject
@testable import PushStore

/// The addresses of an installation share their properties, and newer ones replace older ones, whichever engine stores
/// them.
@Suite struct InstallationTests {
    private typealias Scene = RegistryScene

    private static func registration(
        _ number: Int, _ kind: AddressKind? = nil, in installation: String? = "phone", activity: String? = nil,
        type: String? = nil, app: AppID = Scene.shop
    ) -> DeviceRegistration {
        var registration = Scene.registration(number, app)
        registration.place.kind = kind
        registration.place.installation = installation
        (registration.place.activity, registration.place.activityType) = (activity, type)
        return registration
    }

    private static func record(_ number: Int, in registry: any RegistryEngine) async throws -> DeviceRecord {
        try #require(try await registry.device(Scene.id(number)))
    }

    @Test(arguments: RegistryKind.allCases)
    func `What one address names changes for all`(engine: RegistryKind) async throws {
        try await Scene.open(on: engine) { registry, scene in
            var first = Self.registration(1)
            (first.user, first.tags, first.locale, first.timeZone) = ("ada", ["a", "b"], "de", "Europe/Berlin")
            first.platform = "ios"
            _ = try await registry.register([first, Self.registration(2, .voip), Self.registration(3, .widget)])
            for number in 1...3 {
                let record = try await Self.record(number, in: registry)
                #expect(record.user == "ada" && record.tags == ["a", "b"] && record.locale == "de", "\(number)")
                #expect(record.timeZone == "Europe/Berlin" && record.place.installation == "phone")
            }
            // The platform is that of the address.
            #expect(try await Self.record(2, in: registry).platform == nil)

            // Another address, which does not state its installation again.
            var change = Self.registration(3, in: nil)
            (change.user, change.tags, change.locale) = ("bob", ["c"], "fr")
            _ = try await registry.register([change])
            for number in 1...3 {
                let record = try await Self.record(number, in: registry)
                #expect(record.user == "bob" && record.tags == ["c"] && record.locale == "fr", "\(number)")
                #expect(record.timeZone == "Europe/Berlin")
            }
            #expect(Set(try await registry.all(.users(["bob"]))) == [Scene.id(1)])
            #expect(try await registry.all(.tags(.tag("a"))).isEmpty)

            // Signing out is one call.
            var out = Self.registration(2, in: nil)
            (out.user, out.tags, out.timeZone) = ("", [], "")
            _ = try await registry.register([out])
            for number in 1...3 {
                let record = try await Self.record(number, in: registry)
                #expect(record.user == nil && record.tags.isEmpty && record.timeZone == nil, "\(number)")
            }
            // A refresh that names nothing changes nothing.
            _ = try await registry.register([Self.registration(1, in: nil)])
            #expect(try await Self.record(2, in: registry).locale == "fr")
            #expect(scene.log.events.map(\.kind) == [.deviceRegistered, .deviceRegistered, .deviceRegistered])
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `An inactive address changes with the others, and an operator's change too`(engine: RegistryKind) async throws
    {
        try await Scene.open(on: engine) { registry, _ in
            var first = Self.registration(1)
            first.user = "ada"
            _ = try await registry.register([first, Self.registration(2, .voip)])
            _ = try await registry.deactivate([Scene.id(2)], reason: "lost")
            var change = Scene.registration(2)
            (change.user, change.purpose) = ("bob", .change)
            #expect(try await registry.register([change]).map(\.change) == [.known])
            for number in 1...2 { #expect(try await Self.record(number, in: registry).user == "bob") }
            #expect(try await Self.record(2, in: registry).isActive == false)
            first.user = "eve"
            _ = try await registry.register([first])
            #expect(try await Self.record(2, in: registry).user == "eve")
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `The newer address of the same place replaces the older one`(engine: RegistryKind) async throws {
        try await Scene.open(on: engine) { registry, scene in
            var first = Self.registration(1)
            (first.user, first.tags) = ("ada", ["a"])
            _ = try await registry.register([first, Self.registration(2, .voip)])
            _ = try await registry.register([
                Self.registration(3, .activity, activity: "order-1", type: "Delivery"),
                Self.registration(4, .activity, activity: "order-2", type: "Delivery"),
                Self.registration(5, .pushToStart, type: "Delivery"), Self.registration(6, .pushToStart, type: "Match"),
                Self.registration(7, .control), Self.registration(8, .control),
            ])
            for number in 1...8 { #expect(try await Self.record(number, in: registry).isActive, "\(number)") }
            let before = scene.log.events.count

            let changes = try await registry.register([
                Self.registration(11, .alert), Self.registration(13, .activity, activity: "order-1", type: "Delivery"),
                Self.registration(15, .pushToStart, type: "Delivery"),
            ])
            #expect(changes.map(\.change) == [.registered, .registered, .registered])
            for number in [1, 3, 5] {
                let old = try await Self.record(number, in: registry)
                #expect(!old.isActive && old.reason == "replaced" && old.user == nil && old.tags.isEmpty)
                #expect(old.place.installation == nil && registry.inactive.contains(Scene.id(number)))
            }
            for number in [2, 4, 6, 7, 8, 11, 13, 15] {
                let record = try await Self.record(number, in: registry)
                #expect(record.isActive && record.user == "ada" && record.tags == ["a"], "\(number)")
            }
            let events = scene.log.events[before...]
            #expect(events.count == 6 && events.filter { $0.reason == "replaced" }.map(\.device).count == 3)
            #expect(events.filter { $0.kind == .deviceDeactivated }.allSatisfy { $0.reason == "replaced" })
            // Another installation and another app have places of their own.
            _ = try await registry.register([
                Self.registration(21, in: "tablet"), Self.registration(22, app: Scene.news),
            ])
            #expect(try await Self.record(11, in: registry).isActive)
            #expect(try await Self.record(21, in: registry).user == nil)
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `An address brings what it replaces by name, and moves between installations`(engine: RegistryKind)
        async throws
    {
        try await Scene.open(on: engine) { registry, _ in
            var first = Self.registration(1)
            (first.user, first.tags) = ("ada", ["a"])
            _ = try await registry.register([first])
            var second = Scene.registration(2)
            second.replaces = Scene.token(1)
            _ = try await registry.register([second])
            let record = try await Self.record(2, in: registry)
            #expect(record.place.installation == "phone" && record.user == "ada" && record.tags == ["a"])
            #expect(try await Self.record(1, in: registry).place.installation == nil)

            var other = Self.registration(3, .voip, in: "tablet")
            (other.user, other.tags) = ("bob", ["b"])
            _ = try await registry.register([other])
            _ = try await registry.register([Self.registration(2, in: "tablet")])
            let moved = try await Self.record(2, in: registry)
            #expect(moved.user == "bob" && moved.tags == ["b"] && moved.place.installation == "tablet")
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `An installation has as many addresses as its app allows`(engine: RegistryKind) async throws {
        var options = RegistryOptions()
        options.addressLimits = AddressLimits([Scene.news: 3])
        try await Scene.open(on: engine, options) { registry, scene in
            func activity(_ number: Int, _ app: AppID) -> DeviceRegistration {
                Self.registration(number, .activity, activity: "order-\(number)", type: "Delivery", app: app)
            }
            // Ten thousand activities of one phone.
            for start in stride(from: 0, to: 10_000, by: 1000) {
                let changes = try await registry.register((start..<start + 1000).map { activity($0, Scene.shop) })
                let taken = changes.filter { $0.change == .registered }.count
                #expect(taken == (start == 0 ? 64 : 0))
                #expect(changes.filter { $0.change == .tooMany }.count == 1000 - taken)
            }
            #expect(registry.status.registered == 64 && scene.log.events.count == 64)
            // What is there may be refreshed, and the newest address of a place may come.
            #expect(try await registry.register([activity(63, Scene.shop)]).map(\.change) == [.known])
            var newer = activity(20_000, Scene.shop)
            newer.place.activity = "order-5"
            #expect(try await registry.register([newer]).map(\.change) == [.registered])
            #expect(try await registry.register([activity(20_001, Scene.shop)]).map(\.change) == [.tooMany])
            // What has ended makes room, and leaves the installation when there are too many.
            _ = try await registry.register((0..<3).map { activity($0, Scene.news) })
            #expect(try await registry.register([activity(3, Scene.news)]).map(\.change) == [.tooMany])
            _ = try await registry.deactivate([Scene.id(1, Scene.news)], reason: Deactivation.activityEnded)
            #expect(try await registry.register([activity(3, Scene.news)]).map(\.change) == [.registered])
            let ended = try #require(try await registry.device(Scene.id(1, Scene.news)))
            #expect(!ended.isActive && ended.place.installation == nil)
            // The names are those of the app: the other app has these activities, too.
            #expect(try await registry.device(Scene.id(1))?.isActive == true)
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `Installations and activities are listed, and removed as a whole`(engine: RegistryKind) async throws {
        try await Scene.open(on: engine) { registry, _ in
            _ = try await registry.register([
                Self.registration(1), Self.registration(2, .voip), Self.registration(3, in: "tablet"),
                Self.registration(4, .activity, activity: "order-1", type: "Delivery"),
                Self.registration(5, .activity, in: "tablet", activity: "order-1", type: "Delivery"),
                Self.registration(6, app: Scene.news),
            ])
            var filter = DeviceFilter()
            (filter.app, filter.installation) = (Scene.shop, "phone")
            #expect(
                Set(try await registry.list(filter, after: nil, limit: 10).devices.map(\.id))
                    == Set([1, 2, 4].map { Scene.id($0) }))
            filter.app = nil
            #expect(try await registry.list(filter, after: nil, limit: 10).devices.count == 4)
            (filter.installation, filter.activity) = (nil, "order-1")
            #expect(
                Set(try await registry.list(filter, after: nil, limit: 10).devices.map(\.id))
                    == Set([4, 5].map { Scene.id($0) }))
        }
    }

    @Test func `The addresses of an installation are found by an index of the database`() async throws {
        try await Scene.run(on: .postgresql) { scene in
            let registry = try await scene.openStored(try #require(scene.database))
            let installations = ReadInstallations([Installation(app: "shop", name: "phone")], members: [])
            let plans = try await registry.sessions.read { section in
                let members = RegistryStatements.members
                section.call(.once(sql: "EXPLAIN " + members.sql, parameters: members.parameterTypes)) {
                    installations.append(to: &$0)
                }
                for statement in [RegistryStatements.silentActivities, RegistryStatements.endedActivities] {
                    section.call(.once(sql: "EXPLAIN " + statement.sql, parameters: statement.parameterTypes)) {
                        $0.append(int8: 0)
                        $0.append(int8: 1)
                    }
                }
            }
            let texts = try plans.map { plan in
                try plan.rows.map { try $0.value(0, as: String.self) }.joined(separator: "\n")
            }
            #expect(texts.count == 3 && texts[0].contains("devices_by_installation"), "\(texts)")
            #expect(texts.dropFirst().allSatisfy { $0.contains("devices_by_activity") }, "\(texts)")
            #expect(texts.allSatisfy { !$0.contains("Seq Scan") && !$0.contains("Sort") }, "\(texts)")
            await registry.close()
        }
    }

    /// Each node reads the installation without what the other is adding to it.
    @Test func `Two nodes that add the first addresses at once leave one for each place`() async throws {
        try await Scene.run(on: .postgresql) { scene in
            let database = try #require(scene.database)
            let (one, other) = (try await scene.openStored(database), try await scene.openStored(database))
            let count = 60
            for number in 0..<count {
                let pair = [2 * number, 2 * number + 1].map { address in
                    var registration = Self.registration(address, in: "phone \(number)")
                    registration.user = "user \(address)"
                    return registration
                }
                async let first = one.register([pair[0]])
                async let second = other.register([
                    pair[1], Self.registration(1000 + number, .voip, in: "phone \(number)"),
                ])
                let changes = try await first + second
                #expect(changes.map(\.change) == [.registered, .registered, .registered])
            }
            for number in 0..<count {
                var filter = DeviceFilter()
                filter.installation = "phone \(number)"
                let devices = try await one.list(filter, after: nil, limit: 100).devices
                #expect(devices.count == 2 && devices.allSatisfy(\.isActive), "\(number)")
                #expect(Set(devices.map(\.user)).count == 1 && devices.first?.user != nil, "\(number)")
            }
            await one.close()
            await other.close()
        }
    }

    /// A registration reads its installation by an index, however many others there are.
    @Test func `The addresses of an installation are found by an index`() async throws {
        try await Scene.open { registry, _ in
            let database = try #require(registry as? SQLiteRegistry).database
            var list = DeviceFilter()
            (list.app, list.installation) = (Scene.shop, "phone")
            let queries = [
                (Device.where(.isIn(\.installation, values: ["phone", "tablet"])), "(installation=?"),
                (Device.where(\.app == "shop" && \.installation == "phone"), "(installation=? AND app=?)"),
                (Device.where(\.app == "shop" && \.activity == "order-1"), "(activity=? AND app=?)"),
                (Device.activities(.silent, since: 1), "(activity>?)"),
                (Device.activities(.ended, since: 1), "(activity>?)"),
            ]
            let plans = try await database.write { transaction in
                let table = try transaction.table(of: Device.self)
                return try queries.map { query, _ in
                    let text = try query.select(table.columnList, in: table, ordered: true)
                    let arguments = SQLArguments.list(text.parameters.map(\.value))
                    let rows = try transaction.rows("EXPLAIN QUERY PLAN " + text.sql, arguments: arguments)
                    return try rows.map { try $0["detail", as: String.self] }.joined(separator: "; ")
                }
            }
            for (plan, (_, index)) in zip(plans, queries) { #expect(plan.contains(index), "\(plan)") }
        }
    }
}
