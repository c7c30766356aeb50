import PushLoop
import PushTransport
import TestSupport
import Testing

/// What becomes of messages when there are many, or when nobody takes them.
@Suite struct ZMQFlowTests {
    @Test func aHundredThousandInOrder() async throws {
        try await ZMQWorld.run { world in
            let total = 100_000
            let pull = try await world.peer(.pull)
            let push = try await world.peer(.push, on: world.second)
            try await push.connect(try await pull.bind())
            async let sending: Int = {
                var sent = 0
                while sent < total {
                    let (accepted, last) = try await push.fill(upTo: min(500, total - sent), size: 300, from: sent)
                    sent += accepted
                    if last == .wouldBlock { guard await push.signal("writable") else { return sent } }
                }
                return sent
            }()
            #expect(try await pull.receiveNumbered(total, size: 300) == total)
            #expect(try await sending == total)
            #expect(await pull.waiting == 0)
        }
    }

    /// A reader that stops reading stops the writer; nothing is lost, and the writer hears when it may go on.
    @Test func pauseHoldsTheSenderBack() async throws {
        try await ZMQWorld.run { world in
            let pull = try await world.peer(.pull) { $0.receiveHighWaterMark = 10 }
            let push = try await world.peer(.push, on: world.second) { options in
                options.sendHighWaterMark = 10
                // On a busy machine the pause may take longer than the usual limit for a reader that does not read.
                options.unacknowledgedTimeout = .seconds(3600)
            }
            try await pull.pause()
            let bound = try await pull.bind()
            try await push.connect(bound)
            #expect(try await push.sendPatiently([ZMQPeer.numbered(0, size: 100_000)]) == .sent)
            // Kernel buffers hold some megabytes, so this ends far below the limit.
            var accepted = 1
            while accepted < 10_000 {
                let (more, last) = try await push.fill(upTo: 10_000, size: 100_000, from: accepted)
                accepted += more
                guard last == .wouldBlock else { break }
                // Full may mean that the I/O thread is still busy; full three ticks of a timer later is full.
                _ = await ZMQDescriptorTests.ticks(of: world.second, during: 3)
                if await push.takeSignals().isEmpty { break }
            }
            #expect(accepted < 10_000)
            #expect(await pull.waiting == 0)
            try await pull.resume()
            #expect(await push.signal("writable"))
            for number in 0..<accepted {
                let message = try #require(await pull.receive())
                #expect(ZMQPeer.number(message.frames[0]) == number)
            }
        }
    }

    /// PUB never says that its queue is full: it drops. This is why events have numbers and a replay.
    @Test func pubDropsSilentlyWhenASubscriberIsSlow() async throws {
        try await ZMQWorld.run { world in
            let pub = try await world.peer(.pub, on: world.second) { $0.sendHighWaterMark = 10 }
            let sub = try await world.peer(.sub) { $0.receiveHighWaterMark = 10 }
            try await pub.bind("inproc://news")
            try await sub.connect("inproc://news")
            try await sub.subscribe("")
            try await Self.publish("hello", from: pub, untilHeardBy: sub)

            try await sub.pause()
            #expect(try await pub.fill(upTo: 1000, size: 100).accepted == 1000)
            try await sub.resume()
            try await Self.publish("goodbye", from: pub, untilHeardBy: sub)
            let numbers = await sub.takeReceived().filter { $0.frames[0].count == 100 }
                .map { ZMQPeer.number($0.frames[0]) }
            #expect(numbers.count <= 30, "with marks of 10 and 10")
            #expect(numbers == numbers.sorted())
        }
    }

    @Test func subscriptionsChooseByPrefix() async throws {
        try await ZMQWorld.run { world in
            let pub = try await world.peer(.pub, on: world.second)
            let sub = try await world.peer(.sub)
            try await sub.connect(try await pub.bind())
            try await sub.subscribe("delivery/")
            try await sub.subscribe("mark")
            try await Self.publish("mark", from: pub, untilHeardBy: sub)
            for topic in ["delivery/shop/sent", "device/shop/brake", "delivery/shop/retry"] {
                #expect(try await pub.send(topic, "{}") == .sent)
            }
            for topic in ["delivery/shop/sent", "delivery/shop/retry"] {
                #expect(await sub.receive { $0.texts != ["mark"] }?.texts == [topic, "{}"])
            }
            try await sub.unsubscribe("delivery/")
            try await sub.subscribe("fence")
            try await Self.publish("fence", from: pub, untilHeardBy: sub)
            #expect(try await pub.send("delivery/shop/sent", "{}") == .sent)
            try await Self.publish("mark", from: pub, untilHeardBy: sub)
            #expect(await sub.takeReceived().allSatisfy { ["mark", "fence"].contains($0.texts[0]) })
        }
    }

    /// A subscription takes its time to reach the publisher, and a full queue drops: so say it until it is heard.
    private static func publish(_ text: String, from pub: ZMQPeer, untilHeardBy sub: ZMQPeer) async throws {
        for _ in 0..<2000 {
            #expect(try await pub.send(text) == .sent)
            _ = await ZMQDescriptorTests.ticks(of: pub.loop, during: 1)
            if await sub.takeIfReceived(text) { return }
        }
        Issue.record("\(text) was never heard")
    }

    // MARK: PUSH without a peer

    @Test func pushQueuesForAPeerThatMayNeverCome() async throws {
        try await ZMQWorld.run { world in
            let push = try await world.peer(.push) { $0.sendHighWaterMark = 100 }
            try await push.connect(world.deadEndpoint)
            let (accepted, last) = try await push.fill(upTo: 1000, size: 8)
            #expect(accepted == 100)
            #expect(last == .wouldBlock)
        }
    }

    @Test func pushOnlyToConnectedTakesNothingUntilThen() async throws {
        // A file, since a port that was free a moment ago may be taken when it is bound.
        let directory = try TemporaryDirectory()
        try await ZMQWorld.run { world in
            let endpoint = "ipc://\(directory.path)/socket"
            let push = try await world.peer(.push) { $0.onlyToConnected = true }
            try await push.connect(endpoint)
            #expect(try await push.send("lost?") == .wouldBlock)
            #expect(await push.event { if case .connectRetried = $0 { true } else { false } } != nil)
            #expect(try await push.send("lost?") == .wouldBlock)
            #expect(await push.takeSignals().isEmpty)
            let pull = try await world.peer(.pull, on: world.second)
            try await pull.bind(endpoint)
            #expect(await push.signal("writable"))
            #expect(try await push.send("kept") == .sent)
            #expect(await pull.receive()?.texts == ["kept"])
        }
    }

    @Test func boundPushWithoutPeersTakesNothing() async throws {
        try await ZMQWorld.run { world in
            let push = try await world.peer(.push)
            let endpoint = try await push.bind()
            #expect(try await push.send("early") == .wouldBlock)
            #expect(try await push.send("early", "in two parts") == .wouldBlock)
            let pull = try await world.peer(.pull, on: world.second)
            try await pull.connect(endpoint)
            #expect(await push.signal("writable"))
            #expect(try await push.send("one", "message") == .sent)
            #expect(await pull.receive()?.texts == ["one", "message"])
        }
    }
}

extension ZMQPeer {
    /// True if a message of this one frame was among those that wait; it is taken out.
    func takeIfReceived(_ text: String) async -> Bool {
        guard waiting > 0 else { return false }
        let all = takeReceived()
        for message in all where message.texts != [text] { putBack(message) }
        return all.contains { $0.texts == [text] }
    }
}
