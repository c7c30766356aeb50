import PushModel
import PushPostgreSQL
import Testing

@testable import PushStore

/// The devices whose users get a message in another app of the family, whichever engine stores the devices.
@Suite struct PreferredAudienceTests {
    private typealias Scene = RegistryScene

    private static let news = [PreferredApp(Scene.news, kind: .alert)]

    private static func register(
        _ registry: any RegistryEngine, _ number: Int, _ app: AppID, user: String?, tags: [String] = [],
        kind: AddressKind? = nil
    ) async throws {
        var registration = Scene.registration(number, app, user: user, tags: tags)
        registration.place.kind = kind
        _ = try await registry.register([registration])
    }

    @Test(arguments: RegistryKind.allCases)
    func `Only users with an active address of the kind are reached elsewhere`(kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, scene in
            // Users with an address in both apps, in one, with an inactive one, one of another kind, and none at all.
            for (number, user) in ["both", "one", "gone", "calls", nil].enumerated() {
                try await Self.register(registry, number, Scene.shop, user: user)
            }
            try await Self.register(registry, 10, Scene.shop, user: "both")
            try await Self.register(registry, 11, Scene.news, user: "both")
            try await Self.register(registry, 12, Scene.news, user: "gone")
            try await Self.register(registry, 13, Scene.news, user: "calls", kind: .voip)
            try await Self.register(registry, 14, Scene.news, user: nil)
            _ = try await registry.deactivate([Scene.id(12, Scene.news)], reason: "test")
            let all = [0, 1, 2, 3, 4, 10].map { Scene.id($0) }
            let found = try await registry.outranked(all, of: .everyone, by: Self.news)
            #expect(found == [Scene.id(0), Scene.id(10)])
            let calls = try await registry.outranked(
                all, of: .users(["calls"]), by: [PreferredApp(Scene.news, kind: .voip)])
            #expect(calls == [Scene.id(3)])
            #expect(try await registry.outranked(all, of: .everyone, by: []) == [])
            #expect(try await registry.outranked([], of: .everyone, by: Self.news) == [])
            let two = [PreferredApp(AppID("unknown")!, kind: .alert)] + Self.news
            #expect(try await registry.outranked(all, of: .everyone, by: two) == [Scene.id(0), Scene.id(10)])
        }
    }

    @Test(arguments: [1, 20], RegistryKind.allCases)
    func `An address that the tags leave out does not count`(width: Int, kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, _ in
            for (number, user) in ["ada", "bob"].enumerated() {
                try await Self.register(registry, number, Scene.shop, user: user, tags: ["beta"])
            }
            try await Self.register(registry, 10, Scene.news, user: "ada", tags: ["beta"])
            try await Self.register(registry, 11, Scene.news, user: "bob", tags: ["other"])
            let tags = TagExpression.any((0..<width).map { .tag($0 == 0 ? "beta" : "more-\($0)") })
            let found = try await registry.outranked(
                [Scene.id(0), Scene.id(1)], of: .tags(tags), by: Self.news)
            #expect(found == [Scene.id(0)])
        }
    }

    @Test func `The users who are reached elsewhere are found by indexes of the database`() async throws {
        try await Scene.run(on: .postgresql) { scene in
            let registry = try await scene.openStored(try #require(scene.database))
            var tags: [String] = []
            let condition = TagExpression.any([.tag("beta"), .tag("more")]).condition(&tags, firstParameter: 4)
            let all: [(PostgreSQLStatement, [String])] = [
                (RegistryStatements.outranked(by: "true", tagCount: 0), []),
                (RegistryStatements.outranked(by: condition, tagCount: tags.count), tags),
            ]
            let plans = try await registry.sessions.read { section in
                for (statement, tags) in all {
                    section.call(.once(sql: "EXPLAIN " + statement.sql, parameters: statement.parameterTypes)) {
                        $0.append(ids: [Scene.id(0)])
                        $0.append(textArray: Self.news.lazy.map(\.app.name))
                        $0.append(int4Array: Self.news.lazy.map { Int32($0.kind.number) })
                        for tag in tags { $0.append(bytea: Array(tag.utf8)) }
                    }
                }
            }
            for plan in plans {
                let text = try plan.rows.map { try $0.value(0, as: String.self) }.joined(separator: "\n")
                // Nothing is read of devices that neither got the message nor belong to its users.
                #expect(!text.contains("Seq Scan") && !text.contains("Sort"), "\(text)")
                #expect(text.contains("d.account") || text.contains("account = p.account"), "\(text)")
            }
            #expect(plans.count == 2)
            await registry.close()
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `A user with many addresses hides no other user`(kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, _ in
            let many = (100..<2600).map { Scene.registration($0, Scene.news, user: "many") }
            _ = try await registry.register(many)
            for (number, user) in ["many", "zoe", "alone"].enumerated() {
                try await Self.register(registry, number, Scene.shop, user: user)
            }
            try await Self.register(registry, 10, Scene.news, user: "zoe")
            let found = try await registry.outranked(
                (0..<3).map { Scene.id($0) }, of: .everyone, by: Self.news)
            #expect(found == [Scene.id(0), Scene.id(1)])
        }
    }
}
