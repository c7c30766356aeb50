import PushModel
import TestSupport
import Testing

@testable import PushStore

@Suite struct AudienceTests {
    private typealias Scene = RegistryScene

    /// A registered device, as the test expects it.
    private struct Known {
        let id: DeviceID
        let app: AppID
        let user: String?
        let tags: Set<String>
        var isActive: Bool
    }

    /// Registers devices with frequent and rare tags in two apps, and deactivates a tenth of them.
    private static func populate(
        _ registry: any RegistryEngine, _ count: Int, _ random: inout SeededRandom
    ) async throws -> [Known] {
        var known: [Known] = []
        var registrations: [DeviceRegistration] = []
        for number in 0..<count {
            let app = number % 5 == 0 ? Scene.news : Scene.shop
            var tags: Set<String> = []
            for (tag, one) in [("half", 2), ("third", 3), ("rare", 60), ("rarer", 150), ("rarest", 400)]
            where Int.random(in: 0..<one, using: &random) == 0 {
                tags.insert(tag)
            }
            let user = number % 11 == 0 ? nil : "user-\(number / 3)"
            registrations.append(Scene.registration(number, app, user: user, tags: Array(tags)))
            known.append(Known(id: Scene.id(number, app), app: app, user: user, tags: tags, isActive: true))
        }
        _ = try await registry.register(registrations)
        let gone = known.indices.filter { _ in Int.random(in: 0..<10, using: &random) == 0 }
        _ = try await registry.deactivate(gone.map { known[$0].id }, reason: "test")
        for index in gone { known[index].isActive = false }
        return known
    }

    private static func plan(for expression: TagExpression, _ registry: any RegistryEngine) async throws -> TagPlan {
        if let registry = registry as? PostgreSQLRegistry {
            return try await registry.plan(for: expression, in: Scene.shop, isFirst: true)
        }
        let registry = try #require(registry as? SQLiteRegistry)
        return try await registry.database.read { try TagPlan(for: expression, in: $0) }
    }

    private static func expression(_ depth: Int, _ random: inout SeededRandom) -> TagExpression {
        let tags = ["half", "third", "rare", "rarer", "rarest", "nobody's"]
        switch depth == 0 ? 0 : Int.random(in: 0..<7, using: &random) {
        case 0, 1: return .tag(tags.randomElement(using: &random)!)
        case 2, 3:
            return .all((0..<Int.random(in: 0...3, using: &random)).map { _ in expression(depth - 1, &random) })
        case 4, 5:
            return .any((0..<Int.random(in: 0...3, using: &random)).map { _ in expression(depth - 1, &random) })
        default: return .not(expression(depth - 1, &random))
        }
    }

    @Test(arguments: [1, 7, 1000], RegistryKind.allCases)
    func `The audience everyone contains each active device of the app once`(limit: Int, kind: RegistryKind)
        async throws
    {
        try await Scene.open(on: kind) { registry, scene in
            var random = SeededRandom(seed: 1)
            let known = try await Self.populate(registry, 300, &random)
            for app in [Scene.shop, Scene.news] {
                let found = try await registry.all(.everyone, app, limit: limit)
                #expect(found == scene.ordered(known.filter { $0.app == app && $0.isActive }.map(\.id)))
            }
            let nobody = try await registry.all(.everyone, AppID("other")!, limit: limit)
            #expect(nobody.isEmpty)
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `Tag expressions select the same devices through tags and row by row`(kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, scene in
            var random = SeededRandom(seed: 2)
            let known = try await Self.populate(registry, 3000, &random)
            var drivenCount = 0
            for round in 0..<150 {
                let expression = Self.expression(4, &random)
                let isDriven = try await Self.plan(for: expression, registry).choice != .everyRow
                if isDriven { drivenCount += 1 }
                let found = try await registry.all(.tags(expression), limit: [3, 50, 1000][round % 3])
                let expected = known.filter {
                    $0.app == Scene.shop && $0.isActive && expression.matches($0.tags)
                }
                #expect(found == scene.ordered(expected.map(\.id)), "\(expression), driven: \(isDriven)")
            }
            #expect(drivenCount > 20 && drivenCount < 130)
        }
    }

    private static func wide(_ depth: Int, _ random: inout SeededRandom) -> TagExpression {
        let parts = (0..<Int.random(in: 2...8, using: &random)).map { _ -> TagExpression in
            if depth > 0, Int.random(in: 0..<3, using: &random) == 0 { return wide(depth - 1, &random) }
            let tag = TagExpression.tag("t\(Int.random(in: 0..<40, using: &random))")
            return Bool.random(using: &random) ? tag : .not(tag)
        }
        return Bool.random(using: &random) ? .all(parts) : .any(parts)
    }

    @Test(arguments: RegistryKind.allCases)
    func `Expressions of many tags select the same devices as their parts`(kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, scene in
            var random = SeededRandom(seed: 5)
            // No device has one of the last ten tags.
            let tags = (0..<600).map { _ in Set((0..<3).map { _ in "t\(Int.random(in: 0..<30, using: &random))" }) }
            _ = try await registry.register(tags.enumerated().map { Scene.registration($0, tags: Array($1)) })
            for round in 0..<60 {
                let expression = Self.wide(3, &random)
                let found = try await registry.all(.tags(expression), limit: [3, 50, 1000][round % 3])
                let expected = tags.indices.filter { expression.matches(tags[$0]) }.map { Scene.id($0) }
                #expect(found == scene.ordered(expected), "\(expression)")
                let known = expression.without { $0.text.count == 3 && $0.text >= "t30" }
                #expect(tags.allSatisfy { known.matches($0) == expression.matches($0) }, "\(expression)")
                #expect(known.tags.isSubset(of: Set((0..<30).map { ExactText("t\($0)") })))
            }
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `Tags that no device has are looked up once for a question`(kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, _ in
            _ = try await registry.register((0..<10).map { Scene.registration($0, tags: ["a"]) })
            let nobodys = TagExpression.any((0..<200).map { .tag("none\($0)") })
            for (expression, plan) in [
                (nobodys, TagExpression.any([])), (.not(nobodys), .all([])), (.all([.tag("a"), nobodys]), .any([])),
                (.any([.tag("a"), .not(nobodys)]), .all([])), (.any([nobodys, .tag("a")]), .any([.tag("a")])),
            ] {
                #expect(try await Self.plan(for: expression, registry).expression == plan)
                let found = try await registry.all(.tags(expression))
                #expect(found.count == (plan == .any([]) ? 0 : 10))
            }
        }
    }

    /// The router reads the same file, and waits for a page of others.
    @Test func `A page ends after many devices that do not match`() async throws {
        try await Scene.open { registry, _ in
            let tags = (0..<9).map { "t\($0)" }
            for start in stride(from: 0, to: 21_000, by: 1000) {
                _ = try await registry.register(
                    (start..<start + 1000).map { Scene.registration($0, tags: $0 == 0 ? tags : ["t0"]) })
            }
            let nobody = Audience.tags(.not(.any(tags.map { .tag($0) })))
            let page = try await registry.page(of: nobody, app: Scene.shop, kind: .alert, after: nil, limit: 1000)
            #expect(page.devices.isEmpty && page.next != nil)
            let rest = try await registry.page(of: nobody, app: Scene.shop, kind: .alert, after: page.next, limit: 1000)
            #expect(rest.devices.isEmpty && rest.next == nil)
        }
    }

    /// A condition of the database, a test of many tags, and devices that are found through a tag.
    @Test(arguments: ["narrow", "wide", "driven"])
    func `Pages that end early continue behind what they examined`(way: String) async throws {
        try await Scene.open(on: .postgresql) { registry, _ in
            let registry = try #require(registry as? PostgreSQLRegistry)
            let tags = (0..<8).map { "t\($0)" }
            for start in stride(from: 0, to: 3000, by: 1000) {
                _ = try await registry.register(
                    (start..<start + 1000).map { number in
                        let own = number % 250 == 0 ? tags : ["most"]
                        return Scene.registration(number, tags: own + (number % 30 == 0 ? ["some"] : []))
                    })
            }
            let few = TagExpression.not(.tag("most"))
            let (expression, divisor): (TagExpression, Int) =
                switch way {
                case "narrow": (few, 250)
                case "wide": (.all([few] + tags.map { .any([.tag($0), few]) }), 250)
                default: (.all([.tag("some"), few]), 750)
                }
            let expected = stride(from: 0, to: 3000, by: divisor).map { Scene.id($0) }.sorted()
            for (most, size) in [(1, 5), (7, 3), (100, 1), (1000, 1000), (2999, 2), (3000, 1000), (10_000, 7)] {
                var found: [DeviceID] = []
                var cursor: AudienceCursor?
                var pages = 0
                repeat {
                    let page = try await registry.page(
                        of: expression, in: Scene.shop, .alert, after: cursor, size: size, examining: most)
                    found += page.devices.map(\.id)
                    #expect(page.devices.count <= size)
                    cursor = page.next
                    pages += 1
                } while cursor != nil
                #expect(found == expected, "\(most), \(size)")
                if way != "driven" { #expect(pages >= 3000 / most) }
            }
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `The largest and the deepest valid expressions can be queried`(kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, _ in
            _ = try await registry.register((0..<100).map { Scene.registration($0, tags: ["t\($0)"]) })
            let widest = TagExpression.any((0..<TagExpression.maxTags).map { .tag("t\($0)") })
            let all = try await registry.all(.tags(widest), limit: 30)
            #expect(all.count == 100)
            let notAny = try await registry.all(.tags(.not(widest)))
            #expect(notAny.isEmpty)
            var deep = TagExpression.tag("t7")
            for level in 1..<TagExpression.maxDepth {
                deep =
                    level.isMultiple(of: 2) ? .not(.not(deep)) : .all([.any([deep, .tag("t7")]), .not(.tag("none"))])
            }
            let one = try await registry.all(.tags(deep))
            #expect(one == [Scene.id(7)])
        }
    }

    /// Returns an expression of the maximum depth, with as many tags as allowed on the levels that make the deepest
    /// statement.
    private static func deepest(_ random: inout SeededRandom) -> TagExpression {
        let wide = Int.random(in: 0...TagExpression.maxDepth, using: &random)
        var left = TagExpression.maxTags - TagExpression.maxDepth - 1
        var expression = TagExpression.tag("t0")
        var isAll = Bool.random(using: &random)
        for level in 0..<TagExpression.maxDepth {
            // SQLite needs one more level for a list of more than 32 elements.
            let count = level < wide ? min(left, 33) : Int.random(in: 1...2, using: &random)
            left -= level < wide ? count : 0
            var parts = [expression] + (0..<max(1, count)).map { TagExpression.tag("t\($0)") }
            parts.shuffle(using: &random)
            switch Int.random(in: 0..<8, using: &random) {
            case 0 where level > wide: expression = .not(expression)
            default: expression = isAll ? .all(parts) : .any(parts)
            }
            isAll.toggle()
        }
        return expression
    }

    @Test(arguments: 1...10 as ClosedRange<UInt64>, RegistryKind.allCases)
    func `Any valid expression can be queried, however deep and wide`(seed: UInt64, kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, _ in
            _ = try await registry.register((0..<40).map { Scene.registration($0, tags: ["t\($0)", "t0"]) })
            var random = SeededRandom(seed: seed)
            for _ in 0..<4 {
                let expression = Self.deepest(&random)
                let expected = (0..<40).filter { expression.matches(["t\($0)", "t0"]) }
                let found = try await registry.all(.tags(expression))
                #expect(Set(found) == Set(expected.map { Scene.id($0) }))
                let others = try await registry.all(.tags(.not(expression)), limit: 7)
                #expect(others.count == 40 - expected.count)
            }
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `Invalid queries are distinguished from temporary errors`(kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, _ in
            _ = try await registry.register([Scene.registration(0, tags: ["t", "a", "b"])])
            var deep = TagExpression.tag("t")
            for level in 0..<40 { deep = level % 2 == 0 ? .all([deep, .tag("a")]) : .any([deep, .tag("b")]) }
            await #expect(throws: AudienceFault.self) { _ = try await registry.all(.tags(deep)) }
            await registry.close()
            let closed = await #expect(throws: (any Error).self) { _ = try await registry.all(.everyone) }
            #expect(!(closed is AudienceFault))
        }
    }

    @Test(arguments: [2, 1200], RegistryKind.allCases)
    func `Users are distinguished by their bytes`(count: Int, kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, _ in
            // Swift considers these texts equal; SQLite and producers do not.
            let spellings = ["caf\u{e9}", "cafe\u{301}"]
            _ = try await registry.register(spellings.enumerated().map { Scene.registration($0, user: $1) })
            // A list that is longer than `SQLiteRegistry.listLimit` is cached, and must not be confused with the other.
            let others = (0..<count).map { "user-\($0)" }
            for users in [others + spellings, others + spellings.reversed()] {
                let found = try await registry.all(.users(users), limit: 1)
                #expect(Set(found) == [Scene.id(0), Scene.id(1)])
            }
            for (number, user) in spellings.enumerated() {
                let found = try await registry.all(.users(others + [user]))
                #expect(found == [Scene.id(number)])
            }
            // A change of the encoding is a change of the user.
            _ = try await registry.register([Scene.registration(0, user: spellings[1])])
            let both = try await registry.all(.users([spellings[1]]))
            #expect(Set(both) == [Scene.id(0), Scene.id(1)])
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `Tags are distinguished by their bytes`(kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, _ in
            let spellings = ["caf\u{e9}", "cafe\u{301}"]
            _ = try await registry.register(spellings.enumerated().map { Scene.registration($0, tags: [$1]) })
            _ = try await registry.register([Scene.registration(2, tags: spellings)])
            for (number, tag) in spellings.enumerated() {
                let found = try await registry.all(.tags(.tag(tag)))
                #expect(Set(found) == [Scene.id(number), Scene.id(2)])
            }
            let both = try await registry.all(.tags(.all(spellings.map { .tag($0) })))
            #expect(both == [Scene.id(2)])
            let any = try await registry.all(.tags(.any(spellings.map { .tag($0) })))
            #expect(any.count == 3)
            // A change of the encoding is a change of the tag.
            _ = try await registry.register([Scene.registration(0, tags: [spellings[1]])])
            let changed = try await registry.all(.tags(.tag(spellings[1])))
            #expect(changed.count == 3)
            #expect(TagExpression.tag(spellings[0]) != .tag(spellings[1]))
            #expect(Set(spellings.map { MessageID($0) }).count == 2)
        }
    }

    @Test(arguments: [1, 13, 1000], RegistryKind.allCases)
    func `Each device of named users is found once, even if a user is named twice`(limit: Int, kind: RegistryKind)
        async throws
    {
        try await Scene.open(on: kind) { registry, _ in
            var random = SeededRandom(seed: 3)
            let known = try await Self.populate(registry, 900, &random)
            // The users need several lists; some are named twice, and most have no device.
            var users = (0..<1200).map { "user-\($0 % 700)" }
            users.shuffle(using: &random)
            let found = try await registry.all(.users(users), limit: limit)
            let expected = known.filter { $0.app == Scene.shop && $0.isActive && $0.user != nil }
            #expect(found.count == expected.count && Set(found) == Set(expected.map(\.id)))
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `A user with many devices is paged like many users`(kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, _ in
            _ = try await registry.register((0..<500).map { Scene.registration($0, user: $0 < 400 ? "all" : "b") })
            let found = try await registry.all(.users(["b", "all", "c"]), limit: 9)
            #expect(found.count == 500 && Set(found).count == 500)
        }
    }

    @Test(arguments: [1, 40, 10_000], RegistryKind.allCases)
    func `Pages of named devices list the inactive and the unknown ones`(limit: Int, kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, scene in
            var random = SeededRandom(seed: 4)
            let known = try await Self.populate(registry, 700, &random)
            // This device is only known from feedback.
            scene.log.note([Scene.deactivated(Scene.id(5000), evidence: 5)], at: 10)
            try await registry.catchUp(from: scene.log)
            var ids = known.map(\.id) + [Scene.id(5000), Scene.id(5001), known[0].id]
            ids.shuffle(using: &random)
            var (active, inactive, unknown) = ([DeviceID](), [DeviceID](), [DeviceID]())
            var cursor: AudienceCursor?
            repeat {
                let page = try await registry.page(
                    of: .devices(ids), app: Scene.shop, kind: .alert, after: cursor, limit: limit)
                #expect(page.devices.count + page.inactive.count + page.unknown.count <= limit)
                active += page.devices.map(\.id)
                inactive += page.inactive
                unknown += page.unknown
                cursor = page.next
            } while cursor != nil
            #expect(Set(active) == Set(known.filter { $0.app == Scene.shop && $0.isActive }.map(\.id)))
            #expect(
                Set(inactive)
                    == Set(known.filter { $0.app == Scene.shop && !$0.isActive }.map(\.id) + [Scene.id(5000)]))
            // A device of another app counts as unknown.
            #expect(Set(unknown) == Set(known.filter { $0.app != Scene.shop }.map(\.id) + [Scene.id(5001)]))
            #expect(active.count + inactive.count + unknown.count == 702)
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `Paging returns each device once while devices come and go`(kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, _ in
            _ = try await registry.register((0..<200).map { Scene.registration($0, tags: ["t"]) })
            let numbers = Dictionary(uniqueKeysWithValues: (0..<1100).map { (Scene.id($0), $0) })
            for audience in [Audience.everyone, .tags(.tag("t"))] {
                var found: [DeviceID] = []
                var cursor: AudienceCursor?
                var next = 1000
                repeat {
                    let page = try await registry.page(
                        of: audience, app: Scene.shop, kind: .alert, after: cursor, limit: 20)
                    found += page.devices.map(\.id)
                    cursor = page.next
                    // Devices before and after the page are deactivated, and others are added.
                    _ = try await registry.register([Scene.registration(next), Scene.registration(0)])
                    next += 1
                    _ = try await registry.deactivate([found[0], found[1]], reason: "test")
                    _ = try await registry.register(
                        try [found[0], found[1]].map { Scene.registration(try #require(numbers[$0])) })
                } while cursor != nil
                #expect(Set(found).count == found.count)
                #expect(Set((0..<200).map { Scene.id($0) }).isSubset(of: found))
            }
        }
    }

    @Test(arguments: ["x", "-1", "01", "1.", "1.x", "99999999999999999999", " 1", "2.AAAA"], RegistryKind.allCases)
    func `An invalid cursor is refused`(text: String, kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, _ in
            for audience in [Audience.everyone, .users(["a"]), .devices([Scene.id(1)]), .tags(.tag("a"))] {
                await #expect(throws: BadCursor.self) {
                    _ = try await registry.page(
                        of: audience, app: Scene.shop, kind: .alert, after: AudienceCursor(text), limit: 10)
                }
            }
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `A page of tokens separates active from inactive devices`(kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, _ in
            _ = try await registry.register([Scene.registration(1)])
            _ = try await registry.deactivate([Scene.id(1)], reason: "test")
            let page = try await registry.page(
                of: .tokens([Scene.token(1), Scene.token(2)]), app: Scene.shop, kind: .alert, after: nil, limit: 10)
            #expect(page.devices.map(\.id) == [Scene.id(2)] && page.inactive == [Scene.id(1)] && page.next == nil)
        }
    }
}

extension TagExpression {
    fileprivate func matches(_ tags: Set<String>) -> Bool {
        switch self {
        case .tag(let tag): tags.contains { $0.isExactly(tag) }
        case .all(let parts): parts.allSatisfy { $0.matches(tags) }
        case .any(let parts): parts.contains { $0.matches(tags) }
        case .not(let part): !part.matches(tags)
        }
    }
}
