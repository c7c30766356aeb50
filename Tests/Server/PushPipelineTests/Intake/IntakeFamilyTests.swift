import APNs
import PushLoop
import PushModel
import PushTransport
import PushWire
import TestSupport
import TestTraits
import Testing

@testable import PushPipeline

/// Requests to a family of apps at the doors of intake.
@Suite(.waits) struct IntakeFamilyTests {
    private typealias Scene = IntakeScene

    private static let family = Family(AppID("all")!, members: [Scene.shop, Scene.news])
    private static let apps = AppTable(Scene.apps.apps, families: [family])

    private static func envelope(_ id: String, alert: String = "Hello", app: String = "all") -> String {
        #"{"id":"\#(id)","app":"\#(app)","to":{"users":["ada"]},"alert":"\#(alert)"}"#
    }

    private static func run(
        _ change: (inout IntakeSettings) -> Void = { _ in }, _ body: (IntakeScene) async throws -> Void
    ) async throws {
        try await Scene.run(
            {
                $0 = IntakeSettings(router: $0.router, pull: $0.pull, apps: apps)
                $0.connectionLimits.growth = .max
                change(&$0)
            }, body)
    }

    private static func push(_ envelope: String, apps: [AppID]?, _ scene: IntakeScene) async -> DirectAnswer {
        await withCheckedContinuation { continuation in
            scene.intake.loop.execute {
                scene.intake.assumeIsolated { intake in
                    intake.push(Array(envelope.utf8), from: DirectSender(name: "k", apps: apps)) {
                        continuation.resume(returning: $0)
                    }
                }
            }
        }
    }

    @Test func `One ack has the status of each member`() async throws {
        try await Self.run { scene in
            let producer = try await scene.peer()
            await producer.send("push/1", Self.envelope("one"))
            #expect(
                await producer.receive().last
                    == #"{"id":"one","status":"accepted","seq":1,"apps":{"shop":"accepted","news":"accepted"}}"#)
            #expect(scene.ledger.requests.map(\.message.app) == [Scene.shop, Scene.news])
            #expect(scene.ledger.requests.map(\.isJoined) == [false, true])
            await producer.send("push/1", Self.envelope("one"))
            #expect(
                await producer.receive().last
                    == #"{"id":"one","status":"duplicate","seq":1,"apps":{"shop":"duplicate","news":"duplicate"}}"#)
            // A member that has the message already, and one that does not.
            await producer.send("push/1", Self.envelope("two", app: "shop"))
            _ = await producer.receive()
            await producer.send("push/1", Self.envelope("two"))
            #expect(
                await producer.receive().last
                    == #"{"id":"two","status":"accepted","seq":4,"apps":{"shop":"duplicate","news":"accepted"}}"#)
            let counts = await scene.intake.counts
            #expect(counts.accepted == 3 && counts.duplicate == 1 && counts.unanswered == 0)
        }
    }

    @Test func `A cancellation names what became of each member, or one that is missing in all`() async throws {
        try await Self.run { scene in
            let producer = try await scene.peer()
            for app in ["all", "shop"] {
                await producer.send("push/1", Self.envelope(app, app: app))
                _ = await producer.receive()
                await producer.send("cancel/1", #"{"id":"\#(app)","app":"all"}"#)
                let news = app == "all" ? "cancelled" : "unknown_message"
                let counts = app == "all" ? #""sent":6,"cancelled":8"# : #""sent":3,"cancelled":4"#
                #expect(
                    await producer.receive().last == #"{"id":"\#(app)","status":"cancelled",\#(counts),"#
                        + #""apps":{"shop":"cancelled","news":"\#(news)"}}"#)
            }
            await producer.send("cancel/1", #"{"id":"none","app":"all"}"#)
            #expect(try await producer.status().reason == "unknown_message")
            await producer.send("cancel/1", #"{"id":"none","app":"allx"}"#)
            #expect(try await producer.status().reason == "unknown_app")
        }
    }

    @Test func `A conflict names the member, and nothing is accepted`() async throws {
        try await Self.run { scene in
            let producer = try await scene.peer()
            await producer.send("push/1", Self.envelope("one", alert: "Other", app: "news"))
            _ = await producer.receive()
            await producer.send("push/1", Self.envelope("one"))
            let status = try await producer.status()
            #expect(status.reason == "id_conflict" && status.detail?.hasPrefix("news: ") == true)
            await scene.ledger.wait { $0.notes == 1 }
            #expect(scene.ledger.notes.first?.app == Scene.news)
            await producer.send("push/1", Self.envelope("one", app: "shop"))
            #expect(try await producer.status().status == "accepted")
        }
    }

    @Test func `Lines of a batch and requests over PULL may be to a family`() async throws {
        try await Self.run { scene in
            let producer = try await scene.peer()
            let lines = [Self.envelope("a"), Self.envelope("b", app: "shop"), Self.envelope("c")]
            await producer.send("push-batch/1", lines.joined(separator: "\n"))
            let text = try #require(await producer.receive().last).split(separator: "\n")
            #expect(text.count == 3 && text[0].contains("apps") && !text[1].contains("apps"))
            #expect(text[2].contains(#""seq":4"#))
            let silent = try await scene.peer(.push)
            await silent.send("push/1", Self.envelope("d"))
            await scene.ledger.wait { $0.ids.filter { $0 == "d" }.count == 2 }
            let counts = await scene.until { $0.accepted == 4 }
            #expect(counts.unanswered == 0)
        }
    }

    @Test func `A sender needs a right for each member, and learns no other name`() async throws {
        try await Self.run { scene in
            for envelope in [Self.envelope("one"), #"{"id":"one","app":"all","to":{"users":["ada"]},"badge":-1}"#] {
                let answer = await Self.push(envelope, apps: [Scene.shop], scene)
                let text = String(decoding: answer.text, as: UTF8.self)
                #expect(answer.outcome == .rejected(.forbidden), "\(text)")
                #expect(text.contains("only shop") && !text.contains("news"), "\(text)")
                let none = await Self.push(envelope, apps: [AppID("other")!], scene)
                #expect(none.outcome == .rejected(.forbidden))
                #expect(!String(decoding: none.text, as: UTF8.self).contains("shop"))
            }
            #expect(await Self.push(Self.envelope("one"), apps: [Scene.news, Scene.shop], scene).outcome == .accepted)
            #expect(await Self.push(Self.envelope("two"), apps: nil, scene).outcome == .accepted)
        }
    }

    @Test func `If one member has no room, the family is busy and nothing is counted`() async throws {
        var small = AppLimits()
        small.waiting = 1
        try await Self.run({ $0.appLimits = [Scene.news: small] }) { scene in
            scene.ledger.hold()
            let first = try await scene.peer()
            await first.send("push/1", Self.envelope("one", app: "news"))
            await scene.ledger.wait { $0.ids == ["one"] }
            for _ in 0..<3 {
                await first.send("push/1", Self.envelope("two"))
                #expect(try await first.status().status == "busy")
            }
            scene.ledger.release()
            #expect(try await first.status().status == "accepted")
            await first.send("push/1", Self.envelope("two"))
            #expect(try await first.status().status == "accepted")
            #expect(scene.ledger.requests.map(\.message.id.text) == ["one", "two", "two"])
        }
    }

    @Test func `Each member counts as a request that is not answered, until the ledger has replied`() async throws {
        try await Self.run({ $0.limits.unanswered = 2 }) { scene in
            scene.ledger.hold()
            let producer = try await scene.peer()
            await producer.send("push/1", Self.envelope("one"))
            await scene.ledger.wait { $0.ids == ["one", "one"] }
            #expect(await scene.intake.counts.unanswered == 2)
            await producer.send("push/1", Self.envelope("two", app: "shop"))
            #expect(try await producer.status().status == "busy")
            scene.ledger.release()
            _ = await producer.receive()
            #expect(await scene.until { $0.unanswered == 0 }.accepted == 1)
            #expect(await Self.push(Self.envelope("three"), apps: nil, scene).outcome == .accepted)
            #expect(await scene.intake.counts.unanswered == 0)
        }
    }

    @Test func `A ledger that fails makes the family busy, and PULL repeats all members`() async throws {
        try await Self.run { scene in
            let producer = try await scene.peer()
            scene.ledger.fail("disk full")
            await producer.send("push/1", Self.envelope("one"))
            let busy = await producer.receive().last ?? ""
            #expect(busy.contains("busy") && !busy.contains("apps"))
            let silent = try await scene.peer(.push)
            await silent.send("push/1", Self.envelope("two"))
            await scene.ledger.wait { $0.ids.contains("two") }
            scene.ledger.fail(nil)
            let counts = await scene.until { $0.accepted == 1 }
            #expect(counts.unanswered == 0)
            let last = scene.ledger.requests.suffix(2)
            #expect(last.map(\.message.id.text) == ["two", "two"] && last.map(\.isJoined) == [false, true])
        }
    }

    @Test func `A reload changes the members of what comes after it`() async throws {
        try await Self.run { scene in
            let producer = try await scene.peer()
            let less = Family(AppID("all")!, members: [Scene.news])
            scene.intake.update(apps: AppTable(Scene.apps.apps, families: [less]), rights: Rights())
            await scene.settle()
            await producer.send("push/1", Self.envelope("one"))
            #expect(await producer.receive().last?.contains(#""apps":{"news":"accepted"}"#) == true)
            scene.intake.update(apps: Scene.apps, rights: Rights())
            await scene.settle()
            await producer.send("push/1", Self.envelope("two"))
            #expect(try await producer.status().reason == "unknown_app")
        }
    }
}
