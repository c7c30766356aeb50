import PushLoop
import PushModel
import PushPostgreSQL
import PushTime
import PushWire
import TestSupport
import TestTraits
import Testing

@testable import PushStore

/// What only a registry has that several nodes share, and whose database can be lost.
@Suite(.waits) struct PostgreSQLRegistryTests {
    private typealias Scene = RegistryScene

    /// Runs `body` with a server of its own that has the tables of a store.
    private static func server(
        _ settings: [String: String] = [:], _ body: (PostgreSQLServer, RegistryScene) async throws -> Void
    ) async throws {
        let server = try await PostgreSQLServer.start(settings: settings)
        let options = try PostgreSQLURL.parse(server.url())
        try await StoreTables.create(SharedPostgreSQL.settings(options), parts: 4, at: 1_700_000_000_000)
        try await Scene.run { try await body(server, $0) }
    }

    private static func options(port: UInt16) throws -> PostgreSQLOptions {
        try PostgreSQLURL.parse("postgres://\(PostgreSQLServer.user)@127.0.0.1:\(port)/\(PostgreSQLServer.database)")
    }

    // MARK: Following

    @Test func `A node learns what others change, and what was changed before its start`() async throws {
        try await Scene.nodes { one, other, scene in
            _ = try await one.register((0..<4).map { Scene.registration($0) })
            scene.now += 10
            _ = try await one.deactivate([Scene.id(0), Scene.id(1), Scene.id(2)], reason: "test")
            #expect(other.inactive.isEmpty)
            try await other.follow()
            #expect((0..<4).map { other.inactive.contains(Scene.id($0)) } == [true, true, true, false])
            scene.now += 10
            _ = try await other.register([Scene.registration(0)])
            _ = try await other.remove([Scene.id(1)])
            _ = try await other.reactivate([Scene.id(2)])
            _ = try await other.deactivate([Scene.id(3)], reason: "test")
            #expect(one.status.inactive == 3)
            try await one.follow()
            #expect((0..<4).map { one.inactive.contains(Scene.id($0)) } == [false, false, false, true])
            #expect(one.status == other.status && one.status.registered == 3)
            let third = try await scene.openStored(try #require(scene.database))
            #expect(third.status.inactive == 1 && third.inactive.contains(Scene.id(3)))
            await third.close()
        }
    }

    @Test func `Two nodes that apply an event tell once that the device is active`() async throws {
        try await Scene.nodes { one, other, scene in
            _ = try await one.register([Scene.registration(1)])
            scene.now += 10
            let event = Scene.deactivated(Scene.id(1), evidence: scene.now)
            scene.now += 10
            _ = try await other.register([Scene.registration(1)])
            scene.log.note([event], at: scene.now)
            let segments = scene.log.segments
            async let first: Void = one.apply(segments)
            async let second: Void = other.apply(segments)
            _ = try await (first, second)
            await one.publishOwed()
            await other.publishOwed()
            #expect(scene.log.events.map(\.kind) == [.deviceRegistered, .deviceDeactivated, .deviceReactivated])
        }
    }

    /// The numbers of transactions say when they begin, and not when they end.
    @Test func `A change of a transaction that ends late is not missed`() async throws {
        try await Self.server(["max_prepared_transactions": "4"]) { server, scene in
            let database = try Self.options(port: server.port)
            let (one, other) = (try await scene.openStored(database), try await scene.openStored(database))
            _ = try await one.register((0..<2).map { Scene.registration($0) })
            try await other.follow()
            let late = "'\\x\(Scene.id(0))'"
            try await server.execute(
                "BEGIN", "UPDATE carillon.devices SET deactivated = 1, reason = '' WHERE id = \(late)",
                "INSERT INTO carillon.device_changes (id) VALUES (\(late))", "PREPARE TRANSACTION 'late'")
            scene.now += 10
            _ = try await one.deactivate([Scene.id(1)], reason: "test")
            for _ in 0..<3 {
                try await other.follow()
                #expect(!other.inactive.contains(Scene.id(0)) && other.inactive.contains(Scene.id(1)))
            }
            try await server.execute("COMMIT PREPARED 'late'")
            try await other.follow()
            #expect(other.inactive.contains(Scene.id(0)) && other.status.inactive == 2)
            await one.close()
            await other.close()
        }
    }

    @Test func `A position is void after a reconnection, and after half an hour`() {
        func time(_ seconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: seconds * 1_000_000_000) }
        func position(_ seconds: Int64, opening: Int = 0) -> FollowedChanges.Position {
            .init(oldest: 100 + seconds, next: 200 + seconds, open: [], time: time(seconds), opening: opening)
        }
        var following = FollowedChanges()
        #expect(following.position(at: time(0), opening: 0) == nil)
        #expect(following.take(position(0)) == nil)
        #expect(following.position(at: time(1799), opening: 0)?.next == 200)
        #expect(following.position(at: time(1800), opening: 0) == nil)
        #expect(following.position(at: time(1), opening: 1) == nil)
        for second in stride(from: 60 as Int64, to: 3600, by: 60) { #expect(following.take(position(second)) == nil) }
        // What ended an hour ago is not needed any more.
        #expect(following.take(position(3600)) == 100)
        #expect(following.take(position(3630)) == nil)
        #expect(following.take(position(3660)) == 160)
        // The server may use its numbers again after a crash.
        #expect(following.take(position(9000, opening: 1)) == nil)
    }

    @Test func `A node that was away reads all inactive devices again`() async throws {
        try await Self.server { server, scene in
            let database = try Self.options(port: server.port)
            let registry = try await scene.openStored(database)
            _ = try await registry.register((0..<3).map { Scene.registration($0) })
            scene.now += 10
            _ = try await registry.deactivate([Scene.id(0), Scene.id(1)], reason: "test")
            let held = registry.hold([Scene.id(2)])
            try await server.kill()
            try await server.launch()
            // No row of the table of changes says this.
            try await server.execute("UPDATE carillon.devices SET deactivated = NULL WHERE id = '\\x\(Scene.id(0))'")
            while registry.sessions.openingCount == 0 { await registry.sessions.pause(.milliseconds(5)) }
            try await registry.follow()
            #expect((0..<3).map { registry.inactive.contains(Scene.id($0)) } == [false, true, true])
            await registry.release(held)
            #expect(!registry.inactive.contains(Scene.id(2)))
            await registry.close()
        }
    }

    @Test func `A node that was away learns that any Live Activity may have an address by now`() async throws {
        try await Self.server { server, scene in
            let database = try Self.options(port: server.port)
            let (one, other) = (try await scene.openStored(database), try await scene.openStored(database))
            let told = Locked(0)
            other.observeActivities { if case .ofUnknown = $0 { told.withLock { $0 += 1 } } }
            try await other.follow()
            #expect(told.withLock { $0 } == 0)
            try await server.kill()
            try await server.launch()
            while one.sessions.openingCount == 0 || other.sessions.openingCount == 0 {
                await one.sessions.pause(.milliseconds(5))
            }
            try await other.follow()
            #expect(told.withLock { $0 } == 1)
            await one.close()
            await other.close()
        }
    }

    @Test func `A held device stays held until its event is applied`() async throws {
        try await Scene.nodes { one, other, scene in
            _ = try await one.register([Scene.registration(1)])
            scene.now += 10
            _ = try await other.deactivate([Scene.id(1)], reason: "test")
            scene.now += 10
            _ = try await other.register([Scene.registration(1)])
            one.hold([Scene.id(1)])
            try await one.follow()
            #expect(one.inactive.contains(Scene.id(1)))
            scene.log.note([Scene.deactivated(Scene.id(1), evidence: scene.now - 5)], at: scene.now)
            try await one.apply(scene.log.segments)
            #expect(!one.inactive.contains(Scene.id(1)))
        }
    }

    // MARK: Parts of the log

    private static func segment(_ part: Int, _ numbers: ClosedRange<Int>, evidence: WallTime) -> LogSegment {
        var writer = LogWriter(next: EventNumber.base(of: part) + UInt64(numbers.lowerBound))
        writer.begin(time: 1_000_500, reserving: 256)
        for number in numbers {
            writer.add(Scene.deactivated(Scene.id(1000 * part + number), evidence: evidence), at: 1_000_500)
        }
        return writer.finish()
    }

    @Test func `The next owner of a part applies what the former one did not, from where it was`() async throws {
        try await Scene.nodes { one, other, scene in
            for part in [0, 3] {
                #expect(try await one.catchUp(part: part, from: PartLog(part: part, segments: [])))
            }
            try await one.apply([
                Self.segment(3, 1...5, evidence: 5), Self.segment(0, 1...2, evidence: 5),
                Self.segment(3, 6...7, evidence: 5),
            ])
            #expect(one.status.applied == 9 && one.status.inactive == 9)
            let log = PartLog(
                part: 3, segments: [Self.segment(3, 1...7, evidence: 5), Self.segment(3, 8...9, evidence: 5)])
            _ = try await other.catchUp(part: 3, from: log)
            #expect(log.firstRead == EventNumber.base(of: 3) + 7)
            // A log without the events that were applied is another one. It is read from its beginning.
            #expect(try await !other.catchUp(part: 3, from: PartLog(part: 3, segments: [])))
            // The former owner applies the same events late.
            try await one.apply([Self.segment(3, 8...9, evidence: 5)])
            try await one.follow()
            try await other.follow()
            #expect(one.status.inactive == 11 && other.status.inactive == 11)
            #expect(other.status.unregistered == 11 && one.status.unregistered == 11)
        }
    }

    @Test func `The follower reads a part when it is opened, and then takes its events`() async throws {
        try await Scene.nodes { one, _, scene in
            let log = PartLog(part: 3, segments: [Self.segment(3, 1...7, evidence: 5)])
            let follower = RegistryFollower(one, log: log) { Issue.record("\($0)") }
            follower.opened(try #require(PartitionID(3)))
            await wait(while: one.status.applied < 7)
            follower.committed([Self.segment(3, 8...9, evidence: 5)])
            await wait(while: one.status.applied < 9)
            #expect(one.status.inactive == 9 && log.firstRead == EventNumber.base(of: 3))
            await follower.stop()
        }
    }

    // MARK: Two nodes at once

    @Test func `Two nodes that register the same devices at once leave one device each`() async throws {
        try await Scene.nodes { one, other, scene in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (node, registry) in [one, other].enumerated() {
                    for task in 0..<4 {
                        group.addTask {
                            var random = SeededRandom(seed: UInt64(node * 10 + task))
                            for _ in 0..<25 {
                                let some = (0..<6).map { _ in
                                    Scene.registration(
                                        .random(in: 0..<30, using: &random),
                                        tags: ["a", "b", "c"].filter { _ in Bool.random(using: &random) })
                                }
                                _ = try await registry.register(some)
                                if task == 0 {
                                    let id = Scene.id(.random(in: 0..<30, using: &random))
                                    _ =
                                        try await Bool.random(using: &random)
                                        ? registry.deactivate([id], reason: "test") : registry.remove([id])
                                }
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            try await one.follow()
            try await other.follow()
            let devices = try await one.list(DeviceFilter(), after: nil, limit: 100).devices
            #expect(Set(devices.map(\.id)).count == devices.count && devices.count > 10)
            #expect(one.status.registered == devices.count && one.status.unregistered == 0)
            for device in devices {
                #expect(one.inactive.contains(device.id) == !device.isActive)
                #expect(other.inactive.contains(device.id) == !device.isActive)
            }
            #expect(one.status.inactive == devices.count { !$0.isActive })
            for tag in ["a", "b", "c"] {
                var filter = DeviceFilter()
                filter.tag = tag
                let tagged = try await other.list(filter, after: nil, limit: 100).devices.map(\.id)
                #expect(tagged == devices.filter { $0.tags.contains(tag) }.map(\.id))
            }
            let registered = scene.log.events.count { $0.kind == .deviceRegistered }
            let removed = scene.log.events.count { $0.reason == Deactivation.removed }
            #expect(registered >= devices.count && registered <= devices.count + removed)
        }
    }

    // MARK: A database that is lost

    @Test func `What was answered before and while the database was killed is stored`() async throws {
        try await Self.server { server, scene in
            let registry = try await scene.openStored(Self.options(port: server.port)) { $0.patience = .seconds(120) }
            let answered = EventRecorder<DeviceID>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<4 {
                    group.addTask {
                        for round in 0..<60 {
                            let outcome = try await registry.register([
                                Scene.registration(task * 1000 + round, tags: ["t"])
                            ])
                            #expect(outcome[0].change == .registered)
                            answered.record(outcome[0].id)
                        }
                    }
                }
                group.addTask {
                    for count in [20, 90, 150] {
                        _ = await answered.wait { $0.count >= count }
                        try await server.kill()
                        try await server.launch()
                    }
                }
                try await group.waitForAll()
            }
            try await registry.follow()
            let found = try await registry.all(.tags(.tag("t")))
            #expect(found.count == 240 && Set(found) == Set(answered.events))
            #expect(registry.status.registered == 240 && scene.log.events.count == 240)
            await registry.close()
        }
    }

    @Test func `A registration whose answer is lost is answered as the first, and counted once`() async throws {
        try await Self.server(["max_prepared_transactions": "4"]) { server, scene in
            let proxy = try CuttingProxy(to: server.port)
            let registry = try await scene.openStored(Self.options(port: proxy.port)) { $0.patience = .seconds(120) }
            let other = try await scene.openStored(Self.options(port: server.port))
            _ = try await registry.register([Scene.registration(7)])
            for number in 0..<3 {
                // The write waits for this lock, so that its answer comes when the proxy holds it back.
                try await server.execute(
                    "BEGIN", "LOCK TABLE carillon.device_counts IN EXCLUSIVE MODE", "PREPARE TRANSACTION 'lock'")
                async let outcome = registry.register(
                    [number, number + 100].map { Scene.registration($0, user: "u", tags: ["t"]) })
                try await server.wait(until: "EXISTS (SELECT FROM pg_locks WHERE NOT granted)")
                proxy.hold(.answers)
                try await server.execute("COMMIT PREPARED 'lock'")
                try await server.wait(
                    until: "EXISTS (SELECT FROM carillon.devices WHERE id = '\\x\(Scene.id(number))')")
                // What another node does after the write that was not answered is not undone by its repetition.
                scene.now += 10
                #expect(try await other.deactivate([Scene.id(number + 100)], reason: "test").count == 1)
                proxy.cut()
                #expect(try await outcome.map(\.change) == [.registered, .registered])
            }
            try await registry.follow()
            #expect(registry.status.registered == 7 && registry.status.inactive == 3)
            #expect(scene.log.events.count { $0.kind == .deviceRegistered } == 7)
            #expect(try await registry.all(.tags(.tag("t"))) == (0..<3).map { Scene.id($0) }.sorted())
            await registry.close()
            await other.close()
        }
    }

    @Test func `A write that the database does not confirm in time ends with an error`() async throws {
        try await Self.server { server, scene in
            let registry = try await scene.openStored(Self.options(port: server.port)) {
                $0.patience = .milliseconds(300)
            }
            server.pause()
            let error = await #expect(throws: RegistryError.self) {
                _ = try await registry.register([Scene.registration(1)])
            }
            #expect(error?.code == .unavailable)
            server.resume()
            await registry.close()
        }
    }

    // MARK: Texts and cursors

    @Test func `Users and tags may have any bytes`() async throws {
        try await Scene.open(on: .postgresql) { registry, _ in
            let texts = [
                "nul\u{0}nul", "\u{0}", "{a,b}", "\"quoted\"", "back\\slash", "\\x41", "caf\u{e9}", "cafe\u{301}",
                "NULL",
                "'; DROP TABLE carillon.devices", "\u{10ffff}", " ", "a,b", "null",
            ]
            for (number, text) in texts.enumerated() {
                _ = try await registry.register([Scene.registration(number, user: text, tags: [text, "all"])])
            }
            for (number, text) in texts.enumerated() {
                let record = try await registry.device(Scene.id(number))
                #expect(record?.user?.isExactly(text) == true)
                #expect(Set(record?.tags ?? []) == [text, "all"])
                #expect(try await registry.all(.users([text])) == [Scene.id(number)])
                #expect(try await registry.all(.tags(.all([.tag(text), .tag("all")]))) == [Scene.id(number)])
                var filter = DeviceFilter()
                (filter.user, filter.tag) = (text, text)
                #expect(try await registry.list(filter, after: nil, limit: 5).devices.map(\.id) == [Scene.id(number)])
            }
        }
    }

    @Test func `Thousands of tags in one expression find their devices`() async throws {
        try await Scene.open(on: .postgresql) { registry, scene in
            _ = try await registry.register((0..<200).map { Scene.registration($0, tags: ["t\($0)", "u\($0 % 2)"]) })
            let many = TagExpression.any((100..<10_100).map { .tag("t\($0)") })
            #expect(try await registry.all(.tags(many)) == scene.ordered((100..<200).map { Scene.id($0) }))
            #expect(
                try await registry.all(.tags(.not(many)), limit: 7) == scene.ordered((0..<100).map { Scene.id($0) }))
        }
    }

    @Test func `A cursor of the other engine is refused`() async throws {
        var cursors: [RegistryKind: [AudienceCursor]] = [:]
        let audiences = [Audience.everyone, .tags(.tag("t")), .users(["u0", "u1"])]
        for kind in RegistryKind.allCases {
            try await Scene.open(on: kind) { registry, _ in
                _ = try await registry.register((0..<9).map { Scene.registration($0, user: "u\($0 % 2)", tags: ["t"]) })
                for audience in audiences {
                    let page = try await registry.page(
                        of: audience, app: Scene.shop, kind: .alert, after: nil, limit: 2)
                    cursors[kind, default: []].append(try #require(page.next))
                }
                cursors[kind, default: []].append(
                    try #require(try await registry.list(DeviceFilter(), after: nil, limit: 2).next))
            }
        }
        for kind in RegistryKind.allCases {
            try await Scene.open(on: kind) { registry, _ in
                for (other, found) in cursors where other != kind {
                    for cursor in found {
                        for audience in audiences {
                            await #expect(throws: BadCursor.self, "\(other): \(cursor.text)") {
                                _ = try await registry.page(
                                    of: audience, app: Scene.shop, kind: .alert, after: cursor, limit: 2)
                            }
                        }
                        await #expect(throws: BadCursor.self) {
                            _ = try await registry.list(DeviceFilter(), after: cursor, limit: 2)
                        }
                    }
                }
            }
        }
    }
}

/// The log of one part, which remembers from where it was read.
private final class PartLog: EventLog {
    private let part: Int
    private let segments: [LogSegment]
    private let first = Locked<UInt64?>(nil)

    init(part: Int, segments: [LogSegment]) {
        self.part = part
        self.segments = segments
    }

    var firstRead: UInt64? { first.withLock { $0 } }

    func read(since: UInt64, limit: Int) async throws -> LogPage {
        first.withLock { $0 = $0 ?? since }
        return LogPage(
            segments: segments.filter { $0.last > since },
            oldest: segments.first?.first ?? EventNumber.base(of: part) + 1,
            newest: segments.last?.last ?? EventNumber.base(of: part))
    }

    func trace(_ subject: TraceSubject, limit: Int) async throws -> [LogSegment] { [] }
}
