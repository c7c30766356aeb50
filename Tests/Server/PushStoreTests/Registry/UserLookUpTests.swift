import PushModel
import PushTime
import TestSupport
import Testing

@testable import ActiveObject
@testable import PushStore

/// Look-ups of single users that are answered together, whichever engine stores the devices.
@Suite struct UserLookUpTests {
    private typealias Scene = RegistryScene

    /// Some differ only for Swift or only for the database.
    private static let users = [
        "ada", "Ada", "é", "e\u{301}", "u\u{0}v", " ", String(repeating: "long", count: 60), "bob",
    ]
    private static let locales: [String?] = [nil, "de-CH", "de", "fr"]

    private static func wording() throws -> Wording {
        try #require(
            Wording(["en", "de"].map { Wording.Form(locale: LocaleTag($0), payload: [], places: []) }, values: nil))
    }

    private static func registration(_ number: Int, _ random: inout SeededRandom) -> DeviceRegistration {
        var registration = Scene.registration(number, Bool.random(using: &random) ? Scene.shop : Scene.news)
        registration.user = users.randomElement(using: &random)
        registration.locale = locales.randomElement(using: &random)!
        if Bool.random(using: &random) { registration.place.kind = AddressKind.allCases.randomElement(using: &random) }
        return registration
    }

    /// Every question that one user, app, kind and wording make, also of users that do not exist.
    private static func questions(_ users: [String]) throws -> [UserLookUp] {
        let wording = try wording()
        return users.flatMap { user in
            [Scene.shop, Scene.news].flatMap { app in
                AddressKind.allCases.flatMap { kind in
                    [nil, wording].compactMap { UserLookUp(.users([user]), app: app, kind: kind, wording: $0) }
                }
            }
        }
    }

    private static func check(_ registry: any RegistryEngine, _ questions: [UserLookUp]) async throws -> Int {
        var found = 0
        for start in stride(from: 0, to: questions.count, by: UserLookUp.atOnce) {
            let part = Array(questions[start..<min(start + UserLookUp.atOnce, questions.count)])
            let pages = try await registry.pages(of: part)
            #expect(pages.count == part.count)
            for (question, page) in zip(part, pages) {
                let alone = try await registry.page(
                    of: .users([question.user]), app: question.app, kind: question.kind, wording: question.wording,
                    after: nil, limit: 1000)
                guard let page else {
                    #expect(alone.devices.count > UserLookUp.mostDevices)
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
            let questions = try Self.questions(Self.users + ["nobody", ""])
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
            let most = UserLookUp.mostDevices
            _ = try await registry.register((0..<most).map { Scene.registration($0, user: "ada") })
            let lookUp = try #require(UserLookUp(.users(["ada"]), app: Scene.shop, kind: .alert, wording: nil))
            #expect(try await registry.pages(of: [lookUp, lookUp]).map { $0?.devices.count } == [most, most])
            // A device that is registered before a question is in the answer.
            _ = try await registry.register([Scene.registration(most, user: "ada")])
            let pages = try await registry.pages(of: [lookUp])
            #expect(pages.count == 1 && pages[0] == nil)
            let ids = (0..<most).map { Scene.id($0) }
            _ = try await registry.deactivate(ids, reason: "test")
            #expect(try await registry.pages(of: [lookUp])[0]?.devices.map(\.id) == [Scene.id(most)])
        }
        for audience in [Audience.users(["a", "b"]), .users([]), .everyone, .tokens([Scene.token(1)])] {
            #expect(UserLookUp(audience, app: Scene.shop, kind: .alert, wording: nil) == nil)
        }
    }

    @Test func `They find a user through the index of the users`() async throws {
        try await Scene.run { scene in
            let registry = try #require(try await scene.open() as? SQLiteRegistry)
            let plan = try await registry.database.read { snapshot in
                _ = try registry.ofUser.all(for: [[.null, .null, .null]], limit: 1, in: snapshot)
                return try snapshot.rows(
                    "EXPLAIN QUERY PLAN " + registry.ofUser.sql, arguments: .list([.null, .null, .null, .null])
                ).map { try $0["detail", as: String.self] }
            }
            #expect(plan.count == 1 && plan[0].contains("(user=? AND app=? AND kind=?)"), "\(plan)")
            await registry.close()
        }
    }
}
