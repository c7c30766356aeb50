import PushLoop
import PushModel
import PushTransport
import TestSupport
import TestTraits
import Testing

@testable import PushPipeline

/// Tests of the rights to push.
@Suite(.waits) struct IntakeSecurityTests {
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
                        detail: "client orders may not push to news: its \"push\" does not list that app"))
            await orders.send("push-batch/1", "\(Scene.envelope("c"))\n\(Scene.envelope("d", app: "news"))")
            #expect(try await orders.statuses().map(\.reason) == [nil, "forbidden"])
            // PULL follows the same rules. Each rejection is an event with the client and the message, but it is not among
            // those of an app which is not the client's. Nor does the client learn what is wrong with the message.
            let push = try await scene.peer(.push) { $0.security = keys.client(keys.orders) }
            await push.send("push/1", Scene.envelope("f", app: "news"))
            let faulty = #"{"id":"g","app":"news","to":{"users":["ada"]},"badge":-1}"#
            await push.send("push/1", faulty)
            await push.send("push-batch/1", faulty)
            await scene.ledger.wait { $0.notes == 5 }
            let notes = scene.ledger.notes
            #expect(notes.allSatisfy { $0.kind == .messageRejected && $0.reason == "forbidden" && $0.app == nil })
            #expect(notes.map(\.messageID?.text) == ["b", "d", "f", "g", "g"])
            let details = notes.map { note in note.details.first { $0.name == "detail" }?.value }
            let detail = "client orders may not push to news: its \"push\" does not list that app"
            #expect(details == Array(repeating: .text(detail), count: 5))
            let clients = notes.map { $0.details.first { $0.name == "client" }?.value }
            #expect(clients == Array(repeating: .text("orders"), count: 5))
            #expect(scene.ledger.facts.ids == ["a", "c"])
            let counts = await scene.until { $0.unanswered == 0 }
            #expect(counts.clients["orders"]?.accepted == 2 && counts.clients["orders"]?.rejected == 5)
            #expect(scene.ledger.requests.map(\.client) == ["orders", "orders"])
        }
    }

    @Test func `a client that may only observe does not get in`() async throws {
        let keys = try Keys()
        try await Scene.run(users: keys.directory.users) {
            keys.secure(&$0)
        } _: { scene in
            for kind in [ZMQSocket.Kind.dealer, .push] {
                let grafana = try await scene.peer(kind) { $0.security = keys.client(keys.grafana) }
                await grafana.offer("push/1", Scene.envelope("a"))
            }
            let orders = try await scene.peer { $0.security = keys.client(keys.orders) }
            await orders.send("push/1", Scene.envelope("b"))
            #expect(try await orders.status().id == "b")
            #expect(await scene.intake.counts.messages == 1)
        }
    }

    /// An ack goes to the connection of the key that sent the request, whatever routing id another key uses.
    @Test func `another key cannot take over a routing id and read its acks`() async throws {
        let keys = try Keys()
        var clients = keys.directory.clients
        clients[keys.stranger.publicKey] = .init(name: "stranger", push: [Scene.news])
        let directory = ClientDirectory(clients)
        try await Scene.run(users: directory.users) {
            keys.secure(&$0)
            $0.rights = directory.rights
        } _: { scene in
            scene.ledger.hold()
            let orders = try await scene.peer {
                $0.security = keys.client(keys.orders)
                $0.routingID = Array("orders-1".utf8)
            }
            await orders.send("push/1", Scene.envelope("mine"))
            await scene.ledger.wait { $0.ids == ["mine"] }
            let thief = try await scene.peer {
                $0.security = keys.client(keys.stranger)
                $0.routingID = Array("orders-1".utf8)
            }
            await thief.send("push/1", Scene.envelope("other", app: "news"))
            await scene.ledger.wait { $0.ids == ["mine", "other"] }
            scene.ledger.release()
            #expect(try await thief.status().id == "other")
            #expect(try await orders.status().id == "mine")
            #expect(await scene.intake.counts.droppedAcks == 0)
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
            let other = ClientDirectory([keys.orders.publicKey: .init(name: "orders", push: [Scene.news])])
            scene.intake.update(apps: Scene.apps, rights: other.rights)
            await scene.settle()
            await orders.send("push/1", Scene.envelope("a", app: "news"))
            #expect(try await orders.status().status == "accepted")
            // The same client with another key: the connection with the old key stays open, and has lost its rights.
            let rotated = ClientDirectory([keys.stranger.publicKey: .init(name: "orders", push: [Scene.news])])
            scene.intake.update(apps: Scene.apps, rights: rotated.rights)
            await scene.settle()
            await orders.send("push/1", Scene.envelope("b", app: "news"))
            let refused = try await orders.status()
            #expect(refused.reason == "forbidden")
            #expect(
                refused.detail?.contains("the key \(keys.orders.publicKey) is no longer in security.clients") == true)
        }
    }

    @Test func `a key that was removed has no client's name, over either socket`() async throws {
        let keys = try Keys()
        try await Scene.run(users: keys.directory.users) {
            keys.secure(&$0)
        } _: { scene in
            let asking = try await scene.peer { $0.security = keys.client(keys.orders) }
            let silent = try await scene.peer(.push) { $0.security = keys.client(keys.orders) }
            await asking.send("push/1", Scene.envelope("a"))
            #expect(try await asking.status().status == "accepted")
            await silent.send("push/1", Scene.envelope("b"))
            await scene.ledger.wait { $0.ids == ["a", "b"] }
            let before = await scene.until { $0.accepted == 2 }
            scene.intake.update(apps: Scene.apps, rights: Rights())
            await scene.settle()
            let lines = "\(Scene.envelope("c"))\n\(Scene.envelope("d"))"
            for (frame, text) in [("push/1", Scene.envelope("c")), ("push-batch/1", lines)] {
                await asking.send(frame, text)
                #expect(try await asking.statuses().allSatisfy { $0.reason == "forbidden" })
                await silent.send(frame, text)
            }
            let after = await scene.until { $0.rejected == [.forbidden: 6] }
            #expect(after.clients == before.clients && Array(after.clients.keys) == ["orders"])
            #expect(scene.ledger.facts.ids == ["a", "b"])
            await scene.ledger.wait { $0.notes == 6 }
            #expect(scene.ledger.notes.allSatisfy { !$0.details.map(\.name).contains("client") })
        }
    }

    @Test func `a flood of one client hides nothing of another`() async throws {
        let keys = try Keys()
        var clients = keys.directory.clients
        clients[keys.stranger.publicKey] = .init(name: "tenant", push: [Scene.news])
        let directory = ClientDirectory(clients)
        try await Scene.run(clock: .manual(), users: directory.users) {
            keys.secure(&$0)
            $0.rights = directory.rights
        } _: { scene in
            let orders = try await scene.peer(.push) { $0.security = keys.client(keys.orders) }
            await orders.sendAll((0..<300).map { ["push/1", Scene.envelope("m\($0)", app: "news")] })
            _ = await scene.until { $0.rejections == 300 }
            let tenant = try await scene.peer(.push) { $0.security = keys.client(keys.stranger) }
            await tenant.send("push/1", Scene.envelope("mine", app: "shop"))
            await scene.ledger.wait { $0.notes == 101 }
            let last = try #require(scene.ledger.notes.last)
            #expect(last.messageID?.text == "mine" && last.details.last == .init("client", value: .text("tenant")))
            #expect(await scene.intake.counts.skippedEvents == 200)
        }
    }

    @Test func `ipc asks for no keys`() async throws {
        let keys = try Keys()
        let directory = try TemporaryDirectory()
        try await Scene.run(users: keys.directory.users) {
            keys.secure(&$0)
            $0.router = "ipc://\(directory.path)/intake"
            $0.pull = nil
        } _: { scene in
            #expect(scene.endpoints == IntakeEndpoints(router: "ipc://\(directory.path)/intake", pull: nil))
            let peer = try await scene.peer()
            await peer.send("push/1", Scene.envelope("a", app: "news"))
            #expect(try await peer.status().status == "accepted")
        }
    }

    @Test func `a directory says who is whose key, and what they may do`() throws {
        let keys = try Keys()
        let directory = keys.directory
        let (orders, grafana) = (keys.orders.publicKey, keys.grafana.publicKey)
        #expect(
            directory.users == [
                orders: ZAPUser(id: orders.z85, domains: ["intake.router", "intake.pull"]),
                grafana: ZAPUser(id: grafana.z85, domains: ["events.publish", "events.replay"]),
            ])
        #expect(directory.rights.client(withUserID: orders.z85)?.push == [Scene.shop])
        #expect(directory.rights.client(withUserID: orders.z85)?.observe == false)
        #expect(directory.rights.client(withUserID: grafana.z85)?.name == "grafana")
        #expect(directory.rights.client(withUserID: "orders") == nil)
        #expect(directory.observers == [grafana.z85])
    }
}
