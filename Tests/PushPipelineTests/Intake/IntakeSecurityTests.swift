import PushLoop
import PushModel
import PushTransport
import TestSupport
import Testing

@testable import PushPipeline

/// Who may push where.
@Suite(.timeLimit(.minutes(10))) struct IntakeSecurityTests {
    private typealias Scene = IntakeScene

    private struct Keys {
        let server: CurveKeyPair
        let orders: CurveKeyPair
        let grafana: CurveKeyPair
        let stranger: CurveKeyPair

        init() throws {
            server = try .generate()
            orders = try .generate()
            grafana = try .generate()
            stranger = try .generate()
        }

        var directory: ClientDirectory {
            ClientDirectory([
                orders.publicKey: .init(name: "orders", push: [Scene.shop]),
                grafana.publicKey: .init(name: "grafana", observe: true),
            ])
        }

        func secure(_ settings: inout IntakeSettings) {
            settings.security = .curveServer(secretKey: server.secretKey, domain: "carillon")
            settings.rights = directory.rights
        }

        func client(_ keys: CurveKeyPair) -> ZMQSecurity { .curveClient(keys: keys, serverKey: server.publicKey) }
    }

    @Test func `a client may push to its apps and to no others`() async throws {
        let keys = try Keys()
        try await Scene.run(users: keys.directory.users) {
            keys.secure(&$0)
        } _: { scene in
            let orders = try await scene.peer { $0.security = keys.client(keys.orders) }
            await orders.send("push/1", Scene.envelope("a"))
            #expect(try await orders.status().status == "accepted")
            await orders.send("push/1", Scene.envelope("b", app: "news"))
            #expect(
                try await orders.status()
                    == IntakeStatus(
                        id: "b", status: "rejected", reason: "forbidden",
                        detail: "client orders may not push to news: its \"push\" does not name that app"))
            await orders.send("push-batch/1", "\(Scene.envelope("c"))\n\(Scene.envelope("d", app: "news"))")
            #expect(try await orders.statuses().map(\.reason) == [nil, "forbidden"])
            let grafana = try await scene.peer { $0.security = keys.client(keys.grafana) }
            await grafana.send("push/1", Scene.envelope("e"))
            let refused = try await grafana.status()
            #expect(refused.reason == "forbidden" && refused.detail?.contains("grafana may not push to shop") == true)
            // Over PULL it is an event.
            let push = try await scene.peer(.push) { $0.security = keys.client(keys.grafana) }
            await push.send("push/1", Scene.envelope("f"))
            await scene.ledger.wait { $0.notes == 1 }
            let note = try #require(scene.ledger.notes.first)
            #expect(note.reason == "forbidden" && note.app == Scene.shop && note.messageID?.text == "f")
            #expect(scene.ledger.facts.ids == ["a", "c"])
        }
    }

    @Test func `a key that nobody knows does not get in`() async throws {
        let keys = try Keys()
        try await Scene.run(users: keys.directory.users) {
            keys.secure(&$0)
        } _: { scene in
            let stranger = try await scene.peer { $0.security = keys.client(keys.stranger) }
            await stranger.offer("push/1", Scene.envelope("a"))
            let plain = try await scene.peer()
            await plain.offer("push/1", Scene.envelope("b"))
            let orders = try await scene.peer { $0.security = keys.client(keys.orders) }
            await orders.send("push/1", Scene.envelope("c"))
            #expect(try await orders.status().id == "c")
            #expect(scene.ledger.facts.ids == ["c"] && scene.ledger.facts.notes == 0)
            #expect(await scene.intake.counts.messages == 1)
        }
    }

    @Test func `rights are replaced while connections stand`() async throws {
        let keys = try Keys()
        try await Scene.run(users: keys.directory.users) {
            keys.secure(&$0)
        } _: { scene in
            let orders = try await scene.peer { $0.security = keys.client(keys.orders) }
            await orders.send("push/1", Scene.envelope("a", app: "news"))
            #expect(try await orders.status().reason == "forbidden")
            scene.intake.update(apps: Scene.apps, rights: Rights([.init(name: "orders", push: [Scene.news])]))
            await scene.settle()
            await orders.send("push/1", Scene.envelope("a", app: "news"))
            #expect(try await orders.status().status == "accepted")
            scene.intake.update(apps: Scene.apps, rights: Rights())
            await scene.settle()
            await orders.send("push/1", Scene.envelope("b", app: "news"))
            #expect(try await orders.status().detail == "client orders is not known any more, and may not push to news")
        }
    }

    @Test(arguments: [true, false])
    func `ipc asks for keys only when it is told to`(secures: Bool) async throws {
        let keys = try Keys()
        let directory = try TemporaryDirectory()
        try await Scene.run(users: keys.directory.users) {
            keys.secure(&$0)
            $0.securesIPC = secures
            $0.router = "ipc://\(directory.path)/intake"
            $0.pull = nil
        } _: { scene in
            #expect(scene.endpoints == IntakeEndpoints(router: "ipc://\(directory.path)/intake", pull: nil))
            let peer = try await scene.peer { if secures { $0.security = keys.client(keys.orders) } }
            await peer.send("push/1", Scene.envelope("a", app: "news"))
            #expect(try await peer.status().reason == (secures ? "forbidden" : nil))
        }
    }

    @Test func `a directory says who is whose key, and what they may do`() throws {
        let keys = try Keys()
        let directory = keys.directory
        #expect(directory.users == [keys.orders.publicKey: "orders", keys.grafana.publicKey: "grafana"])
        #expect(directory.rights.client(named: "orders")?.push == [Scene.shop])
        #expect(directory.rights.client(named: "orders")?.observe == false)
        #expect(directory.rights.client(named: "grafana")?.observe == true)
        #expect(directory.rights.client(named: "stranger") == nil)
    }
}
