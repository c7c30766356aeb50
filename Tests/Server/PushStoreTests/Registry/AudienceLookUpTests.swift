import PushModel
import PushTime
import TestSupport
import Testing

@testable import ActiveObject
@testable import PushStore

/// Look-ups of single users and tags that are answered together, whichever engine stores the devices.
@Suite struct AudienceLookUpTests {
    private typealias Scene = RegistryScene

    /// Users and tags. Some differ only for Swift or only for the database.
    private static let names = [
        "ada", "Ada", "é", "e\u{301}", "u\u{0}v", " ", String(repeating: "long", count: 60), "bob",
    ]
    private static let locales: [String?] = [nil, "de-CH", "de", "fr"]

    private static func wording() throws -> Wording {
        try #require(
            Wording(["en", "de"].map { Wording.Form(locale: LocaleTag($0), payload: [], places: []) }, values: nil))
    }

    private static func registration(_ number: Int, _ random: inout SeededRandom) -> DeviceRegistration {
        var registration = Scene.registration(number, Bool.random(using: &random) ? Scene.shop : Scene.news)
        registration.user = names.randomElement(using: &random)
        registration.tags = names.filter { _ in Int.random(in: 0..<4, using: &random) == 0 }
        registration.locale = locales.randomElement(using: &random)!
        if Bool.random(using: &random) { registration.place.kind = AddressKind.allCases.randomElement(using: &random) }
        return registration
    }

    /// Every question that one user or tag, app, kind and wording make, also of those that do not exist.
    private static func questions(_ names: [String]) throws -> [AudienceLookUp] {
        let wording = try wording()
        return names.flatMap { name in
            [Audience.users([name]), .tags(.tag(name))].flatMap { audience in
                [Scene.shop, Scene.news].flatMap { app in
                    AddressKind.allCases.flatMap { kind in
                        [nil, wording].compactMap { AudienceLookUp(audience, app: app, kind: kind, wording: $0) }
                    }
                }
            }
        }
    }

    private static func audience(of lookUp: AudienceLookUp) -> Audience {
        switch lookUp.subject {
        case .user(let user): .users([user])
        case .tag(let tag): .tags(.tag(tag))
        }
    }

    /// Selects the devices that count for the limit.
    private static func filter(of lookUp: AudienceLookUp) -> DeviceFilter {
        var filter = DeviceFilter()
        switch lookUp.subject {
        case .user(let user): (filter.user, filter.app, filter.kind) = (user, lookUp.app, lookUp.kind)
        case .tag(let tag): filter.tag = tag
        }
        return filter
    }

    private static func check(_ registry: any RegistryEngine, _ questions: [AudienceLookUp]) async throws -> Int {
        var found = 0
        for start in stride(from: 0, to: questions.count, by: AudienceLookUp.atOnce) {
            let part = Array(questions[start..<min(start + AudienceLookUp.atOnce, questions.count)])
            let pages = try await registry.pages(of: part)
            #expect(pages.count == part.count)
            for (question, page) in zip(part, pages) {
                let alone = try await registry.page(
                    of: Self.audience(of: question), app: question.app, kind: question.kind, wording: question.wording,
                    after: nil, limit: 1000)
                guard let page else {
                    let all = try await registry.list(Self.filter(of: question), after: nil, limit: 1000)
                    #expect(all.devices.count > AudienceLookUp.mostDevices)
                    continue
                }
                found += page.devices.count
                #expect(page.devices.map(\.id) == alone.devices.map(\.id), "\(question)")
                #expect(page.devices.map(\.token) == alone.devices.map(\.token))
                #expect(page.devices.map(\.variant) == alone.devices.map(\.variant))
                #expect(page.inactive + page.unknown + alone.inactive + alone.unknown == [] && page.next == nil)
            }
        }
        return found
    }

    @Test(arguments: 0..<4, RegistryKind.allCases)
    func `Together they have the answers that each has alone`(seed: UInt64, kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, scene in
            var random = SeededRandom(seed: seed)
            let questions = try Self.questions(Self.names + ["nobody", ""]).shuffled(using: &random)
            for _ in 0..<3 {
                scene.now += 10
                for _ in 0..<30 {
                    let number = Int.random(in: 0..<60, using: &random)
                    _ = try await registry.register([Self.registration(number, &random)])
                }
                scene.now += 10
                let gone = (0..<5).map { _ in Scene.id(Int.random(in: 0..<60, using: &random)) }
                _ = try await registry.deactivate(gone, reason: "test")
                #expect(try await Self.check(registry, questions) > 0)
            }
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `A user with many devices, and one who was erased, are asked for alone`(kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, _ in
            let most = AudienceLookUp.mostDevices
            _ = try await registry.register((0..<most).map { Scene.registration($0, user: "ada") })
            let lookUp = try #require(AudienceLookUp(.users(["ada"]), app: Scene.shop, kind: .alert, wording: nil))
            #expect(try await registry.pages(of: [lookUp, lookUp]).map { $0?.devices.count } == [most, most])
            // A device that is registered before a question is in the answer.
            _ = try await registry.register([Scene.registration(most, user: "ada")])
            let pages = try await registry.pages(of: [lookUp])
            #expect(pages.count == 1 && pages[0] == nil)
            let ids = (0..<most).map { Scene.id($0) }
            _ = try await registry.deactivate(ids, reason: "test")
            #expect(try await registry.pages(of: [lookUp])[0]?.devices.map(\.id) == [Scene.id(most)])
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `A tag with many devices is asked for alone, whatever their app and kind`(kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, scene in
            let most = AudienceLookUp.mostDevices
            _ = try await registry.register((0..<most).map { Scene.registration($0, tags: ["vip"]) })
            let lookUp = try #require(
                AudienceLookUp(.tags(.any([.tag("vip")])), app: Scene.shop, kind: .alert, wording: nil))
            let ordered = scene.ordered((0..<most).map { Scene.id($0) })
            let twice = try await registry.pages(of: [lookUp, lookUp])
            #expect(twice.map { $0?.devices.map(\.id) } == [ordered, ordered])
            // A device that lost the tag, was removed or was deactivated before a question is not in the answer.
            _ = try await registry.register([Scene.registration(3, tags: [])])
            _ = try await registry.remove([Scene.id(5)])
            _ = try await registry.deactivate([Scene.id(7)], reason: "test")
            let left = ordered.filter { ![3, 5, 7].map { Scene.id($0) }.contains($0) }
            #expect(try await registry.pages(of: [lookUp])[0]?.devices.map(\.id) == left)
            // One of another kind has the tag, too.
            var other = Scene.registration(most, tags: ["vip"])
            other.place.kind = .voip
            _ = try await registry.register([other])
            #expect(try await registry.pages(of: [lookUp])[0]?.devices.map(\.id) == left)
            _ = try await registry.register([most + 1, most + 2].map { Scene.registration($0, tags: ["vip"]) })
            let pages = try await registry.pages(of: [lookUp])
            #expect(pages.count == 1 && pages[0] == nil)
        }
    }

    @Test func `Other audiences are not looked up together`() {
        let expressions: [TagExpression] = [
            .not(.tag("a")), .all([]), .any([]), .all([.tag("a"), .tag("b")]), .any([.not(.tag("a"))]),
        ]
        let audiences = [Audience.users(["a", "b"]), .users([]), .everyone, .tokens([Scene.token(1)])]
        for audience in audiences + expressions.map({ .tags($0) }) {
            #expect(AudienceLookUp(audience, app: Scene.shop, kind: .alert, wording: nil) == nil)
        }
    }

    @Test func `They find users, tags and devices through the indexes`() async throws {
        try await Scene.run { scene in
            let registry = try #require(try await scene.open() as? SQLiteRegistry)
            let small = registry.smallAudiences
            let plan = try await registry.database.read { snapshot in
                let both = [Audience.users(["a"]), .tags(.tag("a"))].compactMap {
                    AudienceLookUp($0, app: Scene.shop, kind: .alert, wording: nil)
                }
                _ = try small.devices(of: both, in: snapshot)
                return try [(small.ofUser.sql, 4), (small.tagged.sql, 2), (small.inRow.sql, 4)].map { sql, count in
                    try snapshot.rows(
                        "EXPLAIN QUERY PLAN " + sql, arguments: .list(Array(repeating: .null, count: count))
                    ).map { try $0["detail", as: String.self] }
                }
            }
            #expect(plan.map(\.count) == [1, 1, 1], "\(plan)")
            #expect(plan[0][0].contains("(user=? AND app=? AND kind=?)"), "\(plan)")
            #expect(plan[1][0].contains("COVERING INDEX") && plan[1][0].contains("(tag=?)"), "\(plan)")
            #expect(plan[2][0].contains("USING INTEGER PRIMARY KEY (rowid=?)"), "\(plan)")
            await registry.close()
        }
    }

    @Test func `PostgreSQL finds the devices of a tag by its indexes`() async throws {
        try await Scene.run(on: .postgresql) { scene in
            let registry = try await scene.openStored(try #require(scene.database))
            let statement = RegistryStatements.ofTag(for: try Self.wording())
            let plans = try await registry.sessions.read { section in
                section.call(.once(sql: "EXPLAIN " + statement.sql, parameters: statement.parameterTypes)) {
                    $0.append(bytea: Array("beta".utf8))
                    $0.append(text: Scene.shop.name)
                    $0.append(int8: 17)
                    $0.append(int4: Int32(AddressKind.alert.number))
                }
            }
            let plan = try plans[0].rows.map { try $0.value(0, as: String.self) }.joined(separator: "\n")
            #expect(plan.contains("device_tags_pkey") && plan.contains("devices_pkey"), "\(plan)")
            #expect(!plan.contains("Seq Scan") && !plan.contains("Sort"), "\(plan)")
            await registry.close()
        }
    }
}
