import Glibc
import PushLoop
import PushModel
import PushPipeline
import PushTransport
import PushWire
import TestSupport
import TestTraits
import Testing

/// Tests of rights to observe that change while subscribers are connected.
@Suite(.waits) struct ObserverRightsTests {
    private struct Keys {
        let server: CurveKeyPair
        let grafana: CurveKeyPair
        let orders: CurveKeyPair

        init() throws {
            server = try .generate()
            grafana = try .generate()
            orders = try .generate()
        }

        var serving: ZMQSecurity { .curveServer(secretKey: server.secretKey, domain: "events") }

        func security(of pair: CurveKeyPair) -> ZMQSecurity {
            .curveClient(keys: pair, serverKey: server.publicKey)
        }
    }

    @Test func `a right that is taken ends a live subscription, and others go on`() async throws {
        let keys = try Keys()
        let (grafana, orders) = (keys.grafana.publicKey, keys.orders.publicKey)
        let handler = Locked<ZAPHandler?>(nil)
        try await BusScene.run { settings, context in
            let made = try ZAPHandler(in: context, users: [grafana: grafana.z85, orders: orders.z85])
            handler.withLock { $0 = made }
            settings.publishSecurity = keys.serving
            settings.observers = .withKeys([grafana.z85, orders.z85])
        } _: { scene in
            var writer = LogWriter(next: 1)
            let keeps = try await scene.subscriber("delivery/kept", security: keys.security(of: keys.grafana))
            let loses = try await scene.subscriber("delivery/lost", security: keys.security(of: keys.orders))
            await scene.until(["delivery/kept", "delivery/lost"])
            func commit() {
                scene.commit(&writer) {
                    note(.deliverySent, "kept", into: &$0)
                    note(.deliverySent, "lost", into: &$0)
                }
            }
            commit()
            _ = await keeps.got.wait(count: 1)
            _ = await loses.got.wait(count: 1)
            let zap = try #require(handler.withLock { $0 })
            try zap.replaceUsers([grafana: grafana.z85])
            await scene.bus.replaceObservers(.withKeys([grafana.z85]))
            #expect(await scene.bus.status.rebinds == 1)
            // The subscriber that kept its right reconnects and subscribes again by itself.
            await scene.until(["delivery/kept"])
            commit()
            #expect(await keeps.got.wait(count: 2).count == 2)
            #expect(loses.got.events.count == 1)
            #expect(await scene.bus.status.prefixes == ["delivery/kept"])
        }
    }

    /// The publishing socket requires keys; the replay socket is an `ipc://` endpoint without keys, or not bound.
    @Test(arguments: [false, true])
    func `a right that is taken ends a subscription, and no replay of a socket without keys`(
        hasReplay: Bool
    ) async throws {
        let keys = try Keys()
        let orders = keys.orders.publicKey
        let directory = try TemporaryDirectory()
        let handler = Locked<ZAPHandler?>(nil)
        try await BusScene.run { settings, context in
            let made = try ZAPHandler(in: context, users: [orders: orders.z85])
            handler.withLock { $0 = made }
            settings.publishSecurity = keys.serving
            settings.replay = hasReplay ? "ipc://\(directory.path)/replay" : nil
            settings.observers = .withKeys([orders.z85])
        } _: { scene in
            _ = try await scene.subscriber("delivery/", security: keys.security(of: keys.orders))
            await scene.until(["delivery/"])
            if hasReplay {
                scene.log.hold()
                let requester = try await scene.requester()
                try await requester.ask("replay/1", #"{"since":0,"prefix":""}"#)
                await scene.until { $0.replaysRunning == 1 }
                try await change(scene)
                scene.log.letGo()
                #expect(await requester.got.wait(count: 1).map(\.topic) == ["replay-end/1"])
            } else {
                try await change(scene)
            }
            let status = await scene.bus.status
            #expect(status.rebinds == 1 && status.prefixes.isEmpty)
        }

        func change(_ scene: BusScene) async throws {
            try handler.withLock { $0 }?.replaceUsers([:])
            await scene.bus.replaceObservers(.withKeys([]))
        }
    }

    /// A directory at the socket's path keeps it from being bound again.
    @Test func `while the socket cannot be bound again, the next change waits for nothing`() async throws {
        let keys = try Keys()
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/publish"
        let reports = EventRecorder<String>()
        try await BusScene.run(clock: .manual()) { settings, _ in
            settings.publish = "ipc://\(path)"
            settings.publishSecurity = keys.serving
            settings.observers = .withKeys(["first", "second", "third"])
            settings.rebound = { reports.record($0 == nil ? "bound" : "failed") }
        } _: { scene in
            #expect(unlink(path) == 0 && mkdir(path, 0o700) == 0)
            async let first: Void = scene.bus.replaceObservers(.withKeys(["second", "third"]))
            await scene.until { $0.rebinds == 1 }
            await scene.loop.advance(by: .seconds(1))
            await first
            #expect(reports.events == ["failed"])
            await scene.bus.replaceObservers(.withKeys(["third"]))
            #expect(reports.events == ["failed"])
            #expect(await scene.bus.status.rebinds == 2)
            #expect(rmdir(path) == 0)
            await scene.loop.advance(by: .seconds(1))
            #expect(reports.events == ["failed", "bound"])
        }
    }

    @Test func `rights that are given, or taken from nobody who has them, end nothing`() async throws {
        let keys = try Keys()
        let grafana = keys.grafana.publicKey
        try await BusScene.run { settings, context in
            _ = try ZAPHandler(in: context, users: [grafana: grafana.z85])
            settings.publishSecurity = keys.serving
            settings.observers = .withKeys([grafana.z85])
        } _: { scene in
            _ = try await scene.subscriber("delivery/", security: keys.security(of: keys.grafana))
            await scene.until(["delivery/"])
            await scene.bus.replaceObservers(.withKeys([grafana.z85, "another"]))
            await scene.bus.replaceObservers(.withKeys([grafana.z85, "another"]))
            #expect(await scene.bus.status.rebinds == 0)
            #expect(await scene.bus.status.prefixes == ["delivery/"])
        }
    }

    @Test func `the socket is bound again at the port that the system chose`() async throws {
        let keys = try Keys()
        let grafana = keys.grafana.publicKey
        let reports = EventRecorder<String>()
        try await BusScene.run { settings, context in
            _ = try ZAPHandler(in: context, users: [grafana: grafana.z85])
            settings.publishSecurity = keys.serving
            settings.observers = .withKeys([grafana.z85, "gone"])
            settings.rebound = { reports.record($0 == nil ? "bound" : "failed") }
        } _: { scene in
            await scene.bus.replaceObservers(.withKeys([grafana.z85]))
            #expect(await reports.wait(count: 1) == ["bound"])
            let subscriber = try await scene.subscriber("delivery/", security: keys.security(of: keys.grafana))
            await scene.until(["delivery/"])
            var writer = LogWriter(next: 1)
            scene.commit(&writer) { note(.deliverySent, "shop", into: &$0) }
            #expect(await subscriber.got.wait(count: 1).count == 1)
        }
    }
}
