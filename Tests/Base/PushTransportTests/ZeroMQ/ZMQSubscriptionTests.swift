import PushLoop
import PushTransport
import TestSupport
import Testing

/// An XPUB is a PUB that hears what is asked for.
@Suite struct ZMQSubscriptionTests {
    /// The next change that the publisher hears. Whether libzmq hands out what is no change is its own affair.
    private func change(_ publisher: ZMQPeer) async -> [UInt8]? {
        await publisher.receive { $0.frames.count == 1 && ($0.frames[0].first ?? 2) < 2 }?.frames.first
    }

    private func text(_ change: [UInt8]?) -> String? {
        guard let change, let mark = change.first else { return nil }
        return (mark == 1 ? "+" : "-") + String(decoding: change.dropFirst(), as: UTF8.self)
    }

    @Test func whatSeveralAskForIsToldOnce() async throws {
        try await ZMQWorld.run { world in
            let publisher = try await world.peer(.xpub)
            let endpoint = try await publisher.bind()
            let first = try await world.peer(.sub, on: world.second)
            try await first.connect(endpoint)
            try await first.subscribe("delivery/")
            #expect(text(await change(publisher)) == "+delivery/")
            let second = try await world.peer(.sub, on: world.second)
            try await second.connect(endpoint)
            try await second.subscribe("delivery/")
            try await second.subscribe("delivery/shop/")
            // Nothing of the one that was there.
            #expect(text(await change(publisher)) == "+delivery/shop/")
            try await first.unsubscribe("delivery/")
            try await first.subscribe("")
            #expect(text(await change(publisher)) == "+")
            try await second.unsubscribe("delivery/")
            #expect(text(await change(publisher)) == "-delivery/")
        }
    }

    @Test func whoGoesNoLongerAsks() async throws {
        try await ZMQWorld.run { world in
            let publisher = try await world.peer(.xpub)
            let endpoint = try await publisher.bind()
            let stays = try await world.peer(.sub, on: world.second)
            let goes = try await world.peer(.sub, on: world.second)
            try await stays.connect(endpoint)
            try await stays.subscribe("both")
            #expect(text(await change(publisher)) == "+both")
            try await goes.connect(endpoint)
            try await goes.subscribe("both")
            try await goes.subscribe("alone")
            #expect(text(await change(publisher)) == "+alone")
            await goes.close()
            #expect(text(await change(publisher)) == "-alone")
            await stays.close()
            #expect(text(await change(publisher)) == "-both")
        }
    }

    /// The same subscriptions and the same messages through both kinds: subscribers see no difference.
    @Test(arguments: [ZMQSocket.Kind.pub, .xpub])
    func subscribersSeeWhatAPUBShows(_ kind: ZMQSocket.Kind) async throws {
        try await ZMQWorld.run { world in
            let publisher = try await world.peer(kind)
            let endpoint = try await publisher.bind()
            let subscriber = try await world.peer(.sub, on: world.second)
            try await subscriber.connect(endpoint)
            for prefix in ["a", "ab", "a", "z", "end"] { try await subscriber.subscribe(prefix) }
            try await subscriber.unsubscribe("a")
            try await subscriber.unsubscribe("z")
            // A subscription is there when something comes of the last one.
            var seen: Received?
            while seen == nil {
                #expect(try await publisher.send("end", "is it there?") == .sent)
                seen = await subscriber.takeReceived().first
                if seen == nil { await pace() }
            }
            let topics = ["a", "abc", "b", "z", "ac", "", "end"]
            for (number, topic) in topics.enumerated() {
                #expect(try await publisher.send(topic, "\(number)", "more") == .sent)
            }
            var got: [[String]] = []
            while got.last != ["end", "6", "more"] {
                let message = try #require(await subscriber.receive())
                if message.frames.count == 3 { got.append(message.texts) }
            }
            #expect(got == [["a", "0", "more"], ["abc", "1", "more"], ["ac", "4", "more"], ["end", "6", "more"]])
        }
    }

    /// A peer that sends a long message where subscriptions belong, one of them its last frame: what it and others ask
    /// for is heard all the same, each change by itself.
    @Test func messagesAmongSubscriptions() async throws {
        try await ZMQWorld.run { world in
            let publisher = try await world.peer(.xpub)
            let endpoint = try await publisher.bind()
            let raw = try RawPeer(to: endpoint)
            raw.write(RawPeer.greeting)
            _ = raw.read(64)
            raw.write(RawPeer.ready(as: "SUB"))
            for _ in 0..<20 { raw.write(RawPeer.frame([2, 7], more: true)) }
            raw.write(RawPeer.frame(Array("\u{1}raw".utf8), more: false))
            #expect(text(await change(publisher)) == "+raw")
            let subscriber = try await world.peer(.sub, on: world.second)
            try await subscriber.connect(endpoint)
            try await subscriber.subscribe("honest")
            #expect(text(await change(publisher)) == "+honest")
            #expect(await publisher.takeReceived().allSatisfy { $0.frames.count == 1 && $0.malformedFrameCount == 0 })
            // Who cancels what it never asked for changes nothing for others, though libzmq tells of it.
            raw.write(RawPeer.frame(Array("\u{0}honest".utf8), more: false))
            raw.write(RawPeer.frame(Array("\u{1}last".utf8), more: false))
            var reported: String? = ""
            while let one = reported, one != "+last" { reported = text(await change(publisher)) }
            #expect(reported == "+last")
            #expect(try await publisher.send("honest", "news") == .sent)
            #expect(await subscriber.receive()?.texts == ["honest", "news"])
        }
    }

    @Test func changesAreRead() async throws {
        try await ZMQWorld.run { world in
            let publisher = try await world.peer(.xpub)
            let endpoint = try await publisher.bind()
            let subscriber = try await world.peer(.sub, on: world.second)
            try await subscriber.connect(endpoint)
            let received = Locked<[ZMQSubscription?]>([])
            try await publisher.with { socket in
                socket.onMessage = { message in
                    let change = message.subscription
                    received.withLock { $0.append(change) }
                }
            }
            try await subscriber.subscribe("a/b")
            try await subscriber.unsubscribe("a/b")
            await wait(while: received.withLock({ $0.count }) < 2)
            #expect(received.withLock { $0 } == [.added(Array("a/b".utf8)), .cancelled(Array("a/b".utf8))])
            try await subscriber.subscribe("c")
            await wait(while: received.withLock({ $0.count }) < 3)
            await subscriber.close()
            await wait(while: received.withLock({ $0.count }) < 4)
            #expect(received.withLock { $0.last } == .removed(Array("c".utf8)))
        }
    }
}
